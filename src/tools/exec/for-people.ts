/** What only a person does: answers of approval questions, and logins that show a code. */
const FOR_PEOPLE: readonly (readonly [text: RegExp, why: string])[] = [
  [/(?:^|[;&|\n])\s*\/approve\b/, "only a person answers an approval question"],
  [
    /\bopenclaw(?:\.mjs)?\s(?:[^;&|\n]*\s)?channels\s+(?:[^;&|\n]*\s)?login\b/,
    "a person logs a channel in, at a terminal (openclaw channels login)",
  ],
];

/** Why a command is for a person alone, whatever may run; undefined when it is not. It is no barrier: it tells a model early. Pure. */
export const whyForPeople = (command: string): string | undefined =>
  FOR_PEOPLE.find(([text]) => text.test(command))?.[1];
