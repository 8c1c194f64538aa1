/**
 * Lends connections to the masters of slots. Commands of a leased connection cannot follow a redirect, but the
 * cluster learns from it, so that the next lease goes to the new owner.
 */

import { ClusterUnavailableError } from "../../cluster/cluster-errors";
import { parseRedirect } from "../../cluster/redirect";
import { PARTS } from "../chain";
import type { ClusterWiring } from "../cluster/cluster-wiring";
import type { LendTerms, Loan } from "../redis";

export async function lend(wiring: ClusterWiring, slot: number, terms: LendTerms): Promise<Loan> {
  const { slots, refresher } = wiring;
  if (slots.ownerOf(slot) === null) await refresher.refresh();
  const master = slots.ownerOf(slot);
  if (master === null) throw new ClusterUnavailableError();
  const onRefused = ({ message }: Error): void => {
    const redirect = parseRedirect(message, master.address);
    if (redirect === null) return;
    slots.learn(redirect);
    refresher.request(null);
  };
  return wiring.openView(master)[PARTS].openLeases().take(onRefused, terms);
}
