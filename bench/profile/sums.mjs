// Adds up a profile by module, folder and function.
//   self    spent in the code itself
//   owned   self, plus what the packages, Node and native functions spent that it called
import { labelOf, placeOf } from "./places.mjs";

/** A tree of `{ frame, amount, children }` from V8's CPU profile; amounts are microseconds. */
export function cpuTree({ nodes, samples, timeDeltas }) {
  const byId = new Map(nodes.map((node) => [node.id, { frame: node.callFrame, amount: 0, children: [] }]));
  for (const node of nodes) byId.get(node.id).children = (node.children ?? []).map((id) => byId.get(id));
  // A delta is the time before its sample, so the time after a sample is the next delta.
  samples.forEach((id, index) => {
    byId.get(id).amount += timeDeltas[index + 1] ?? 0;
  });
  return byId.get(nodes[0].id);
}

/** The same of V8's sampled allocations; amounts are bytes. */
export const heapTree = ({ head }) => toTree(head);
const toTree = ({ callFrame, selfSize, children }) => ({
  frame: callFrame,
  amount: selfSize,
  children: children.map(toTree),
});

class Sums {
  #rows = new Map();

  add(name, column, amount) {
    const row = this.#rows.get(name) ?? { name, self: 0, owned: 0 };
    row[column] += amount;
    this.#rows.set(name, row);
  }

  by(column) {
    return [...this.#rows.values()].sort((a, b) => b[column] - a[column]);
  }
}

/** Who answers for `place` when `caller` answers for its caller: the project before packages, packages before Node. */
function ownerOf(place, caller) {
  if (place.apart || !caller || caller.apart) return place;
  return place.rank === 2 || place.rank > caller.rank ? place : caller;
}

/** `total` leaves out idle time. */
export function sums(tree) {
  const modules = new Sums();
  const folders = new Sums();
  const functions = new Sums();
  let total = 0;
  const visit = (node, caller) => {
    const place = placeOf(node.frame);
    const owner = ownerOf(place, caller);
    if (!place.idle) {
      total += node.amount;
      for (const [column, at] of [
        ["self", place],
        ["owned", owner],
      ]) {
        modules.add(at.module, column, node.amount);
        folders.add(at.folder, column, node.amount);
        functions.add(labelOf(at), column, node.amount);
      }
    }
    for (const child of node.children) visit(child, owner);
  };
  visit(tree);
  return { total, modules, folders, functions };
}
