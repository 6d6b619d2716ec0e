/**
 * Everyday English words that people use for the same things. Whoever asks rarely uses the word that the note has, and a search by
 * words knows no meanings.
 */
const GROUPS: readonly string[] = [
  "mother mum mom mama mummy",
  "father dad papa daddy",
  "grandmother granny grandma",
  "grandfather grandpa granddad",
  "child children kid kids son daughter",
  "brother sister sibling",
  "husband wife partner spouse",
  "marry married marries marriage wedding",
  "friend friends",
  "doctor dr physician gp",
  "allergist allergy allergic",
  "dentist tooth teeth",
  "hospital clinic emergency ward",
  "medicine medication drug tablet pill dose prescription takes mg",
  "ill sick illness disease",
  "eat eats avoid allergic food diet",
  "hurt hurts injury injured wound torn accident",
  "buy bought purchase order ordered",
  "sell sold sale",
  "price cost costs euros euro expensive cheap",
  "pay paid pays payment",
  "owe owes debt loan lent lend borrow borrowed",
  "salary wage wages income",
  "invoice bill",
  "bookkeeper bookkeeping accountant accounts books",
  "tax taxes vat",
  "insurance insured premium policy",
  "offer offers quote quotes quoted estimate",
  "address lives live moved moves house flat apartment",
  "moving move moves removal relocation",
  "password passphrase phrase passcode pin code",
  "wifi wlan internet network",
  "phone telephone mobile call",
  "mail email letter",
  "car vehicle van truck",
  "drive driving driver licence license",
  "bike bicycle cycle",
  "flight plane airport fly flies",
  "trip journey travel ride",
  "holiday holidays vacation",
  "booking reservation reference ticket booked",
  "meal dinner lunch breakfast",
  "school class lesson",
  "exam examination test",
  "job work employment position",
  "colleague team staff employee employees",
  "company firm business",
  "customer client",
  "supplier vendor dealer",
  "begin begins start starts started",
  "end ends finish finished stop expire expires valid",
  "meeting appointment",
  "birthday born birth age old",
  "fetch pick pickup collect",
  "deliver delivery delivered ship shipping",
  "repair repaired fix fixed mend service technician",
  "broken broke defect fault error",
  "replace replaced change changed new",
  "check inspection inspected inspect inspector",
  "install installed installation mounting mounted",
  "decide decided decision agree agreed",
  "refuse refused decline declined reject rejected",
  "babysit babysitter nanny",
  "cat kitten tomcat",
  "dog puppy",
  "wood timber",
  "paint painted colour color",
  "big large size measures",
  "tall high height",
  "warm hot temperature",
  "document documents paper papers certificate diploma",
  "immigration visa permit",
  "aid aider help rescue",
  "spare extra second",
  "visit visits come comes guest guests",
  "belong belongings things furniture",
];

const alike = new Map<string, Set<string>>();
for (const group of GROUPS) {
  const words = group.split(" ");
  for (const word of words) {
    const known = alike.get(word) ?? new Set<string>();
    for (const other of words) known.add(other);
    alike.set(word, known);
  }
}

/** Words that mean the like of a lower-case one, without itself; none when it is not known. */
export function wordsLike(word: string): readonly string[] {
  const forms = [word, word.replace(/(?:ed|ing|s)$/, ""), word.replace(/(?:ed|ing)$/, "e")];
  const found = forms.map((form) => alike.get(form)).find((words) => words !== undefined);
  return [...(found ?? [])].filter((other) => other !== word);
}
