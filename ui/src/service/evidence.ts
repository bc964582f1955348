import { readDocument, type Diagnosis, type EroicaDocument } from "../document.ts";
import type { Claim } from "./answers.ts";

/** A claim with its evidence, as its document has it; without the document what the incident itself keeps. */
export function diagnosisOf(claim: Claim, doc: EroicaDocument | undefined): Diagnosis {
  const same = (doc?.diagnoses ?? []).filter(({ cause }) => cause === claim.cause);
  const ranks = (list: readonly number[]): string => [...list].sort((a, b) => a - b).join();
  // An incident keeps the first 64 ranks of a claim.
  return same.find((each) => ranks(each.ranks).startsWith(ranks(claim.ranks))) ?? same[0] ?? readDocument({ diagnoses: [claim.source] }).diagnoses[0]!;
}
