import { isRecord, valueAt, type KeyPath } from "./schema/problem.ts";

/** One change of the config's value; an undefined value removes the key. */
export interface FormEdit {
  readonly path: KeyPath;
  readonly value: unknown;
}

/** A key in a form of another version of OpenClaw, older or newer, and the changes that say the same here. */
export interface FoundForm {
  readonly path: KeyPath;
  readonly edits: readonly FormEdit[];
  /** How the key is read, for a person; derived from the edits when unset. */
  readonly says?: string;
}

/** Finds the places of one old form. The rows are applied in their order, so a later one sees what an earlier one wrote. */
export type OldForm = (root: unknown) => readonly FoundForm[];

/** A key under another name. Where both are there, the new name counts, and objects are put together. */
export const moved =
  (from: KeyPath, to: KeyPath, convert: (value: unknown) => unknown = (value) => value): OldForm =>
  (root) => {
    const given = valueAt(root, from);
    if (given === undefined) return [];
    const value = together(convert(given), valueAt(root, to));
    return [
      {
        path: from,
        edits: [
          { path: from, value: undefined },
          { path: to, value },
        ],
      },
    ];
  };

/** Two values of one key; the present one counts, and objects are put together key by key. */
function together(given: unknown, present: unknown): unknown {
  if (!isRecord(given) || !isRecord(present)) return present ?? given;
  const names = Object.keys({ ...given, ...present });
  return Object.fromEntries(names.map((name) => [name, together(valueAt(given, [name]), valueAt(present, [name]))]));
}

/** A value in another form; `convert` answers undefined where the form is that of today. */
export const replaced =
  (path: KeyPath, convert: (value: unknown) => unknown, says?: string): OldForm =>
  (root) => {
    const given = valueAt(root, path);
    const value = given === undefined ? undefined : convert(given);
    return value === undefined ? [] : [{ path, edits: [{ path, value }], ...(says !== undefined && { says }) }];
  };

/** A key that is as good as unset, and is taken out. */
export const removed =
  (path: KeyPath, isMeant: (value: unknown) => boolean, says: string): OldForm =>
  (root) => {
    const given = valueAt(root, path);
    return given !== undefined && isMeant(given) ? [{ path, edits: [{ path, value: undefined }], says }] : [];
  };

/** A section that has become empty. */
export const emptied =
  (path: KeyPath): OldForm =>
  (root) => {
    const value = valueAt(root, path);
    const isEmpty = isRecord(value) && Object.keys(value).length === 0;
    return isEmpty ? [{ path, edits: [{ path, value: undefined }] }] : [];
  };

/** The row for each of several places. */
export const each =
  (placesOf: (root: unknown) => readonly KeyPath[], row: (place: KeyPath) => OldForm): OldForm =>
  (root) =>
    placesOf(root).flatMap((place) => row(place)(root));

/** The places directly below a section or a list. */
export const below =
  (...path: KeyPath) =>
  (root: unknown): readonly KeyPath[] => {
    const value = valueAt(root, path);
    if (Array.isArray(value)) return value.map((_item, at) => [...path, at]);
    return isRecord(value) ? Object.keys(value).map((name) => [...path, name]) : [];
  };
