/** A check of text by the thing that is made from it: false when making it throws. */
export const makes =
  (make: (text: string) => unknown) =>
  (text: string): boolean => {
    try {
      make(text);
      return true;
    } catch {
      // The text cannot be parsed.
      return false;
    }
  };
