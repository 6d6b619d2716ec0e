/** Names the notice that is sent in place of an answer, in its reply key. */
export const NOTICE = "notice";
