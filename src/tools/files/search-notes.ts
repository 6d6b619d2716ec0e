/** Notes in the result of an incomplete search. */
export const SEARCH_ENDED = "[The search was ended after 30 seconds; narrow it.]";
export const PARTIAL = "[Some files could not be read.]";
