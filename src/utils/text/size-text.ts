/** A number of bytes for people. */
export const sizeText = (bytes: number): string =>
  bytes < 1_048_576 ? `${(bytes / 1024).toFixed(1)} kB` : `${(bytes / 1_048_576).toFixed(1)} MB`;

const SIZE = /^(\d+(?:\.\d+)?)\s*(b|kb?|mb?|gb?|tb?)?$/;
const POWERS: Readonly<Record<string, number>> = { b: 0, k: 1, m: 2, g: 3, t: 4 };

/** Bytes of `500mb`, `10GB`, `1.5g`; a number without a unit counts bytes. Undefined when it is none. */
export function readSize(text: string): number | undefined {
  const [, amount, unit = "b"] = SIZE.exec(text.trim().toLowerCase()) ?? [];
  const power = POWERS[unit.charAt(0)];
  return amount === undefined || power === undefined ? undefined : Math.round(Number(amount) * 1024 ** power);
}
