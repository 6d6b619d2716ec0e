/** What a search says when it could not do all of it. */
export const LATE = "[The search was ended after 30 seconds; narrow it.]";
export const PARTIAL = "[Some files could not be read.]";
