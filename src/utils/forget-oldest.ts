/** Takes the entry that was set longest ago out of a map of more than `most`. */
export function forgetOldest<K>(map: Map<K, unknown>, most: number): void {
  const oldest = map.keys().next();
  if (map.size > most && !oldest.done) map.delete(oldest.value);
}
