import type { FrameLocator, Locator, Page } from "playwright-core";

/** `e12`, `f1e12` of a frame, and `ax12`, which is another spelling of `e12`. */
const REF = /^(?:(?:f\d+)?e|ax)\d+$/;
const plain = (ref: string): string => ref.replace(/^ax/, "e");

/** The element of a ref. A number or a selector is none. */
export function at(page: Page, ref: string | undefined): Locator {
  if (ref === undefined || !REF.test(ref))
    throw new Error("Give a ref of the last snapshot, such as e12. A page that was loaded anew needs a new snapshot.");
  return page.getByRef(plain(ref));
}

/** The frame that an element shows, which a ref or a CSS selector names. */
export const frameAt = (page: Page, frame: string): FrameLocator =>
  (REF.test(frame) ? page.getByRef(plain(frame)) : page.locator(`css=${frame}`).first()).contentFrame();
