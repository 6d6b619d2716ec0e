/** Prefix of the paths of conversations. */
export const SESSIONS = "sessions/";
