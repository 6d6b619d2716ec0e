/**
 * Loads undici. Node's own copy is loaded before it: otherwise undici also takes requests of the process's other copies, such as that
 * of Discord's library, and refuses their forms.
 */
export async function loadUndici() {
  await fetch("data:,");
  return import("undici");
}
