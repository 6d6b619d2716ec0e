import { expect, test } from "vitest";
import { unnamedPlace } from "../../extensions/webchat/page/markdown/links.ts";

const EVIL = "https://evil.test/x";

/** Words that name a host to which a link to evil.test does not lead. */
const NAMING = [
  "https://bank.example/login",
  "www.bank.example",
  "bank.example",
  "see example.com for more",
  "Example.COM",
  "log in at bank.co.uk, then go on",
  "go to bank.example.",
  "(bank.com)",
  "“bank.com”",
  "bank.com/README.md",
  "bank.com:443",
  "go to id.me/login",
  "the page login.host.top",
  "at secure.bank.id today",
  "go to https://bank.example now",
  "ftp://bank.com",
  "see //bank.com",
  "https://evil.test@bank.com/",
  "https://bank.com@evil.test/",
  "https://bank.com\\@evil.test",
  "mail@bank.com",
  "write to Info@Bank.com today",
  "bänk.de",
  "xn--bnk-qla.de",
  "bank。example",
  "ｂａｎｋ．ｃｏｍ",
  "ba\u200Bnk.com",
  "ba\u202Enk.com",
  "bank[^1].com",
  "bank\uA4F8com",
  "bank\u0701com",
  "\uE0000\uE001",
  "bank\uE0000\uE001com",
  "раypal.com",
  "see bank.сом",
  "see bank.соm",
  "банк.рф",
  "银行.中国",
  "192.168.1.1",
  "open 10.0.0.1/admin",
  "1.1.1.1:80",
  "evil.test and bank.com",
  "test.evil.test",
  "192.0.2.1 or not",
  "localhost.evil.com",
];

/** Words that name no host. */
const NAMELESS = [
  "the bank",
  "Node.js",
  "Node.js 24 and Next.js",
  "Vue.js, D3.js.",
  "README.md",
  "see docs/README.md for more",
  "src/markdown/links.ts",
  "main.rs, lib.py and run.sh",
  "C:\\Users\\me\\site.com",
  "assets/site.com",
  "package.json",
  ".env.local",
  "settings.json",
  "archive.tar.gz and a.zip",
  "film.mov",
  "notes.txt",
  "e.g.",
  "e.g. this, i.e. that, etc.",
  "z.B. oder d.h.",
  "U.S. and U.K.",
  "Ph.D.",
  "5 p.m.",
  "1.2.3",
  "v1.2.3",
  "v2.0.0-beta.1",
  "version 4.17.21",
  "lodash@4.17.21",
  "react@19.0.0-rc.1",
  "1.2.3.4",
  "120.0.6099.109",
  "3.14",
  "1.000,00 €",
  "Hello.There",
  "The end.Next",
  "user.name",
  "user.id is null",
  "console.log",
  "Array.at()",
  "list.at(0)",
  "os.path",
  "React.Component",
  "com.example.app",
  "org.junit.jupiter",
  "ASP.NET Core",
  "@scope/name",
  "a, b. And c",
  "…",
  "..",
  ".com",
  "",
];

test.each(NAMING)("a link whose words are %j says where it leads", (words) => {
  expect(unnamedPlace(EVIL, words)).toBe("evil.test");
});

test.each(NAMELESS)("a link whose words are %j names no host", (words) => {
  expect(unnamedPlace(EVIL, words)).toBeUndefined();
});

test.each([
  ["https://bank.example/b", "https://bank.example/a"],
  ["https://www.bank.example", "bank.example"],
  ["https://docs.example.org/x", "see example.org, please"],
  ["https://x.org", "see https://x.org, ok"],
  ["https://x.org", "(see https://x.org)."],
  ["https://x.org", "HTTPS://X.ORG/"],
  ["https://xn--bnk-qla.de", "bänk.de"],
  ["https://github.com/a/b", "git@github.com:a/b.git"],
  ["https://bank.com/mail", "write to me@bank.com"],
  ["#top", "bank.com"],
  ["mailto:me@bank.com", "write to us"],
  ["mailto:me@bank.com", "Me@Bank.com"],
  ["mailto:me@bank.com?subject=see%20evil.test", "me@bank.com"],
  ["mailto:me@mail.bank.com", "bank.com"],
  ["mailto:a@x.org,b@x.org", "a@x.org and b@x.org"],
  ["mailto:a%40x.org", "a@x.org"],
  ["mailto:%22A%22%20%3Ca@x.org%3E", "a@x.org"],
  ["mailto:", "bank.com"],
  ["tel:+49301234567", "+49 30 123 45 67"],
  ["tel:+49301234567", "030 / 1234567"],
  ["tel:+49301234567", "+49 (0)30 1234567"],
  ["tel:+49301234567", "call us until 2027"],
])("a link to %s with the words %j leads to the place that they name", (href, words) => {
  expect(unnamedPlace(href, words)).toBeUndefined();
});

test.each([
  ["mailto:x@evil.test", "bank.com", "x@evil.test"],
  ["mailto:x@evil.test", "me@bank.com", "x@evil.test"],
  ["mailto:x@bank.com", "me@bank.com", "x@bank.com"],
  ["mailto:x@evil.test", "write to bank.com now", "x@evil.test"],
  ["mailto:x@evil.test", "https://bank.com", "x@evil.test"],
  ["mailto:me@bank.com?bcc=x@evil.test", "me@bank.com", "me@bank.com, x@evil.test"],
  ["mailto:?to=x@evil.test", "me@bank.com", "x@evil.test"],
  ["MAILTO:x%40evil.test", "me@bank.com", "x@evil.test"],
  ["mailto:a@b.cd,c@b.cd,e@b.cd,f@b.cd", "bank.com", "a@b.cd, c@b.cd, e@b.cd, …"],
  ["mailto:x%E2%80%AE@evil.test", "me@bank.com", "x\uFFFD@evil.test"],
  ["mailto:bank.com", "me@bank.com", "bank.com"],
  ["tel:+190012345", "+49 30 1234567", "+190012345"],
  ["tel:+190012345", "bank.com", "+190012345"],
  ["http://[::1]/", "bank.com", "[::1]"],
  ["https://bank.com@evil.test", "bank.com", "evil.test"],
])("a link to %s with the words %j is said to lead to %s", (href, words, place) => {
  expect(unnamedPlace(href, words)).toBe(place);
});

test.each(["a", "!", ".", "a.", "-.", "a@", "1 ", "1(", "://", "a://", "www.", "x\\", "<", "<>", "\u0301"])(
  "words of 200,000 characters of %j are read at once",
  (part) => {
    const words = `${part.repeat(200_000 / part.length)} bank.com`;
    expect(unnamedPlace(EVIL, words)).toBe("evil.test");
    for (const scheme of ["mailto:", "tel:"]) unnamedPlace(`${scheme}${words}`, words);
  },
);

test.each([
  ["mailto:", "a@b.cd,", "x@x.cd", "x.cd "],
  ["mailto:?bcc=", "x.cd,", "x@x.cd", "x@x.cd "],
])(
  "a link to %s and many addresses is compared with many addresses in its words at once",
  (scheme, part, last, word) => {
    const href = `${scheme}${part.repeat(20_000)}${last}`;
    expect(unnamedPlace(href, word.repeat(20_000))).toMatch(/, …$/);
  },
);
