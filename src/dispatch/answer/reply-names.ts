/** The name, in a reply key, of the notice that is sent instead of an answer. */
export const NOTICE = "notice";
