/** The number of people who wrote to an agent and are not allowed. */
export interface Strangers {
  /** People who have a pairing code. */
  readonly waiting: number;
  /** People of the last day who have no code: three others were waiting at their account. */
  readonly turnedAway: number;
}

/** The numbers as a text, with the command that shows the people; undefined when there is nobody. */
export function strangersText({ waiting, turnedAway }: Strangers): string | undefined {
  const words = [
    waiting === 0 ? [] : `${people(waiting)} ${waiting === 1 ? "waits" : "wait"} to be let in`,
    turnedAway === 0 ? [] : `${people(turnedAway)} ${turnedAway === 1 ? "was" : "were"} turned away without a code`,
  ].flat();
  return words.length === 0 ? undefined : `${words.join(", ")}: openclaw pairing list`;
}

const people = (count: number): string => (count === 1 ? "one person" : `${count} people`);
