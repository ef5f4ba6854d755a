// The candidates that a page's peer connections use.

/**
 * The local candidates of the pairs that the open connections in `window.connections` use; runs in
 * the page.
 */
export async function localCandidates() {
  const found = [];
  for (const connection of window.connections) {
    if (connection.connectionState !== "connected") continue;
    const rows = await connection.getStats();
    const transport = [...rows.values()].find((row) => row.type === "transport" && row.selectedCandidatePairId);
    const pair = transport && rows.get(transport.selectedCandidatePairId);
    const local = pair && rows.get(pair.localCandidateId);
    if (local) found.push({ type: local.candidateType, protocol: local.protocol, relayProtocol: local.relayProtocol });
  }
  return found;
}
