/** The plugin that a skeleton is made for. */
export interface SkeletonNames {
  /** The plugin's id. */
  readonly id: string;
}

/** The parts in which the skeletons of two kinds of plugins differ. */
export interface Template {
  readonly kind: string;
  /** A sentence for `package.json` and the README. */
  about(names: SkeletonNames): string;
  /** More keys of `openclaw.plugin.json`. */
  manifest(names: SkeletonNames): Readonly<Record<string, unknown>>;
  /** `index.js` */
  entry(names: SkeletonNames): string;
  /** `test/contract.test.js` */
  test(names: SkeletonNames): string;
  /** Commands that it needs after its installation. */
  enable(names: SkeletonNames): readonly string[];
}
