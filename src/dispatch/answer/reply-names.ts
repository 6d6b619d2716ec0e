/** In a reply key: the notice that is sent instead of an answer. */
export const NOTICE = "notice";
