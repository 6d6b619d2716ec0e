import { hasFormula } from "./formulas.ts";

/**
 * The place to which a link leads, for links whose words name another one: the host, the mail addresses or the number. Undefined
 * when the words name none, the same, or a host to which the place belongs. Pure.
 */
export function unnamedPlace(href: string, words: string): string | undefined {
  const unmarked = words.normalize("NFKC").replace(/\s+/g, " ").replace(INVISIBLE, "").replace(NOTE_MARKS, "");
  const plain = unmarked.replace(DOTS, ".").trim();
  if (/^mailto:/i.test(href)) return unnamedMailboxes(href, namedIn(plain));
  if (/^tel:/i.test(href)) return unnamedNumber(href, plain);
  const host = /^https?:/i.test(href) ? URL.parse(href)?.hostname.replace(/^www\./, "") : undefined;
  return namedIn(plain).every((named) => named.host !== undefined && isWithin(host ?? "", named.host))
    ? undefined
    : host;
}

/** Signs that a browser reads as a dot in a host, and letters and signs of other scripts that people take for one. */
const DOTS = /[\u3002\uFF0E\uFF61\u0701\u0702\uA4F8]/g;
/** They are shown as small numbers, between which the words are read on. */
const NOTE_MARKS = /\[\^[^\s[\]]{1,100}\]/g;
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Bidi_Control}]/gu;

/** An address in words. The host is undefined when it can be none. */
interface Named {
  readonly host: string | undefined;
  /** Set for a mail address. */
  readonly mailbox?: string;
}

/** Addresses in words: with a scheme or `www`, and hosts and mail addresses, unless they are a part of a path. */
const ADDRESSES =
  /(?:[a-z][a-z\d+.-]{0,20}:\/\/|\bwww\.)\S+|(?<![\p{L}\p{N}\p{M}_@.-]|[\p{L}\p{N}\p{M}_-][\\/])(?<local>[^\s@/()<>[\]"',;:]{1,64}@)?(?<host>[\p{L}\p{N}\p{M}_-]+(?:\.[\p{L}\p{N}\p{M}_-]+)+)(?<place>(?::\d+)?(?:[/?#]\S*)?)(?<call>\()?/giu;

/** A formula can be drawn as any address. */
const namedIn = (words: string): readonly Named[] => (hasFormula(words) ? [{ host: undefined }] : addressesIn(words));

const addressesIn = (words: string): readonly Named[] =>
  [...words.matchAll(ADDRESSES)].flatMap((match): readonly Named[] => {
    const { local, host, place = "", call } = match.groups ?? {};
    if (host === undefined) return [{ host: hostIn(match[0]) }];
    if (local !== undefined)
      return /[.](?:\p{L}{2,}|xn--[^.]*)$/iu.test(host)
        ? [{ host: hostIn(host), mailbox: `${local}${host}`.toLowerCase() }]
        : [];
    return call === undefined && isHost(host.toLowerCase(), /^[:/]/.test(place)) ? [{ host: hostIn(host) }] : [];
  });

/** Whether dotted words name a host, rather than a file, a version, a library or a short form. `hasPlace`: a port or a path follows. */
function isHost(host: string, hasPlace: boolean): boolean {
  const labels = host.split(".");
  const last = labels.at(-1) ?? "";
  if (/^\d+$/.test(last)) return isMachine(labels, hasPlace);
  if (PRODUCTS.has(host) || REVERSED.has(labels[0] ?? "")) return false;
  if (AMBIGUOUS_ENDINGS.has(last)) return labels.length > 2 || hasPlace;
  return ENDINGS.has(last) || last.startsWith("xn--") || (LATIN.test(host) && LIKE_LATIN.test(last));
}

/** Whether four numbers are the address of a machine; versions begin with small numbers. */
const isMachine = (labels: readonly string[], hasPlace: boolean): boolean =>
  labels.length === 4 &&
  labels.every((label) => /^\d{1,3}$/.test(label) && Number(label) < 256) &&
  (hasPlace || Number(labels[0]) >= 10);

const LATIN = /\p{Script=Latin}/u;
/** Scripts with letters that look like Latin ones, which make an ending look like another. */
const LIKE_LATIN = /[\p{Script=Cyrillic}\p{Script=Greek}]/u;

/** Endings of hosts that programs write after a dot: two words with one of them may be code. */
const AMBIGUOUS_ENDINGS = setOf("id is as do name top host run link post info style email group company one call");
const PRODUCTS = setOf("asp.net vb.net ado.net ml.net");
/** The beginnings of names of packages and apps, which are hosts turned round. */
const REVERSED = setOf("com org net io dev edu gov de");
/**
 * Endings of hosts: those of countries, the common ones, and those that are kept for examples and own networks. Without those that are
 * better known as endings of files: cc, md, ml, mov, pm, ps, py, rs, sh, so, zip.
 */
const ENDINGS = setOf(`
  ac ad ae af ag ai al am ao aq ar at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cd cf cg ch ci ck cl cm cn
  co cr cu cv cw cx cy cz de dj dk dm dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy
  hk hm hn hr ht hu ie il im in io iq ir it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc me mg
  mh mk mm mn mo mp mq mr ms mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pn pr pt pw qa re ro ru
  rw sa sb sc sd se sg si sk sl sm sn sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc
  ve vg vi vn vu wf ws ye yt za zm zw рф бг укр срб 中国 中國 香港 台湾 台灣 新加坡 한국 भारत ไทย ایران مصر السعودية 公司 网络 网址 在线
  com org net edu gov mil int biz pro coop museum aero jobs mobi travel tel asia cat xxx arpa
  app dev page web site website online store shop shopping market markets blog news media press wiki tech technology digital cloud
  hosting mail chat social network systems software codes design studio agency consulting services support help center team business
  ventures capital finance financial fund money cash credit creditcard loan loans bank insurance tax trade trading exchange pay crypto
  wallet legal law lawyer health healthcare clinic doctor dental care pharmacy hospital school academy university college education
  courses science report reviews guide guru expert tips tools click live life fun fyi world global international earth land city town
  place today now xyz club vip win bid icu cyou sbs bar cafe pizza restaurant kitchen wine beer coffee fit fitness yoga bike auto car
  cars games game bet casino poker video film movie music photo photos pictures gallery art fashion beauty luxury gold hotel hotels
  flights holiday tours estate house homes properties rent immo haus berlin hamburg koeln cologne bayern ruhr saarland wien tirol
  swiss amsterdam paris london wales scot irish nyc miami tokyo osaka quebec africa moscow eus gal google amazon apple microsoft azure
  youtube gmail android aws barclays hsbc citi chase visa amex americanexpress bnpparibas fidelity schwab allianz axa bbc sky bmw audi
  nokia sony canon toyota dhl sap
  example test invalid localhost local internal lan home corp intranet onion
`);

function setOf(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/));
}

const isWithin = (host: string, outer: string): boolean => `.${host}`.endsWith(`.${outer}`);

/** The host of an address with or without a scheme; undefined for one that says another host before its own, or none. */
function hostIn(address: string): string | undefined {
  const [authority = ""] = /^[^\s/?#\\]{0,300}/.exec(address.replace(/^[a-z][a-z\d+.-]{0,20}:\/+/i, "")) ?? [];
  const url = URL.parse(
    `https://${authority.replace(/[\p{P}\p{S}]{1,20}$/u, (end) => (end.endsWith("]") ? end : ""))}`,
  );
  return url === null || url.username !== "" ? undefined : url.hostname.replace(/^www\./, "");
}

/** The mailboxes of a link that its words leave unnamed although they name one or a host, all together. */
function unnamedMailboxes(href: string, named: readonly Named[]): string | undefined {
  const mailboxes = mailboxesOf(href);
  const hosts = mailboxes.map((mailbox) => hostIn(mailbox.slice(mailbox.lastIndexOf("@") + 1)) ?? "");
  const isCovered = (at: number, by: Named): boolean =>
    by.mailbox === undefined
      ? by.host !== undefined && isWithin(hosts[at] ?? "", by.host)
      : mailboxes[at] === by.mailbox;
  const isComparable = named.length <= MOST_COMPARED && mailboxes.length <= MOST_COMPARED;
  const isSame =
    named.length === 0 ||
    (isComparable &&
      named.every((one) => mailboxes.some((_, at) => isCovered(at, one))) &&
      mailboxes.every((_, at) => named.some((one) => isCovered(at, one))));
  if (isSame || mailboxes.length === 0) return undefined;
  const shown = mailboxes
    .slice(0, MOST_MAILBOXES)
    .map((mailbox) => Array.from(mailbox).slice(0, MOST_LENGTH).join("").replace(INVISIBLE, "\uFFFD"))
    .join(", ");
  return mailboxes.length > MOST_MAILBOXES ? `${shown}, …` : shown;
}

const MOST_MAILBOXES = 3;
/** Each address in words is compared with each mailbox, which takes too long for more of them. */
const MOST_COMPARED = 100;
/** Most characters of each. */
const MOST_LENGTH = 120;

/** All who get a mail from a `mailto:` link. */
function mailboxesOf(href: string): readonly string[] {
  const url = URL.parse(href);
  if (url === null) return [];
  const fields = [...url.searchParams].filter(([name]) => /^(?:to|cc|bcc)$/i.test(name)).map(([, value]) => value);
  return [decoded(url.pathname), ...fields]
    .flatMap((field) => field.split(","))
    .map((one) => (/<([^<>]*)>\s*$/.exec(one)?.[1] ?? one).trim().toLowerCase())
    .filter((one) => one !== "");
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The number of a link whose words name another one, or a host. Numbers within a country lack the beginning. */
function unnamedNumber(href: string, words: string): string | undefined {
  const number = decoded(href.slice("tel:".length)).split(";")[0] ?? "";
  const digits = number.replace(/\D/g, "");
  const numbers = [...words.replace(/\(0\)/g, "").matchAll(/\+?\d[\d\s()./-]{3,}\d/g)].map(([one]) =>
    one.replace(/\D/g, ""),
  );
  const isOwn = (one: string): boolean => digits.endsWith(one.replace(/^0+/, ""));
  return numbers.every(isOwn) && namedIn(words).length === 0 ? undefined : number.slice(0, MOST_LENGTH);
}
