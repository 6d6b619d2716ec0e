/** What the paths of conversations begin with. */
export const SESSIONS = "sessions/";
