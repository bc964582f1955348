import { readDocument, type Diagnosis, type EroicaDocument } from "../document.ts";
import type { Claim } from "./answers.ts";

/** An incident keeps no more ranks of a claim, the first ones. */
const KEPT_RANKS = 64;

/** Whether a diagnosis says what the claim says: by cause, ranks and component, as the server tells claims apart. */
const says = (claim: Claim, each: Diagnosis): boolean =>
  each.cause === claim.cause && each.component === claim.component && claim.ranks.every((rank, i) => each.ranks[i] === rank) &&
  (each.ranks.length === claim.ranks.length || claim.ranks.length >= KEPT_RANKS);

/** A claim with its evidence, as its document has it; without the document what the incident itself keeps. */
export const diagnosisOf = (claim: Claim, doc: EroicaDocument | undefined): Diagnosis =>
  doc?.diagnoses.find((each) => says(claim, each)) ?? readDocument({ diagnoses: [claim.source] }).diagnoses[0]!;
