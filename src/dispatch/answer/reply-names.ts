/** Names the notice that stands in for an answer, in its reply key. */
export const NOTICE = "notice";
