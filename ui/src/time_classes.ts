import type { TimeClass } from "./document.ts";

/** Colours are in style.css: told apart with the common forms of colour blindness, in light and dark. */
export const classColor = (name: TimeClass): string => `var(--class-${name})`;

export const CLASS_MEANING: Record<TimeClass, string> = {
  compute: "kernels on the device; on CPU jobs, operators",
  memory: "copies not hidden by compute",
  communication: "collectives not hidden by compute",
  dataloader: "the training thread waits for data",
  python: "Python code, device idle",
  launch: "framework code on the host, device idle",
  sync: "the host waits for a device that runs nothing",
  idle: "nothing known",
};
