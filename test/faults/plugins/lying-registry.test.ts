import { readdirSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { expect } from "vitest";
import { test, type Npm } from "../../plugins/install/npm-fixture.ts";

type Lie = (npm: Npm, path: string, response: ServerResponse) => boolean;

const isArchive = (path: string) => path.includes("/-/");

/** Answers as the registry would, but with other words in it. */
const replaced =
  (from: RegExp, to: string): Lie =>
  (npm, path, response) => {
    if (path !== "toy") return false;
    response.end(npm.registry.describe("toy").replace(from, to));
    return true;
  };

const endless = (response: ServerResponse, type: string): void => {
  response.writeHead(200, { "content-type": type });
  const part = Buffer.alloc(1_048_576, "x");
  const more = (): void => {
    while (!response.destroyed && response.write(part));
    if (!response.destroyed) response.once("drain", more);
  };
  more();
};

/** What a registry does, whose archives or documents it concerns, and what the operator is told. */
const LIES: readonly (readonly [what: string, lie: Lie, told: RegExp])[] = [
  [
    "names another hash",
    replaced(/"integrity":"sha512-[^"]*"/, '"integrity":"sha512-AAAA"'),
    /PLUGIN_FETCH: .*EINTEGRITY|integrity/,
  ],
  [
    "cuts the archive",
    (_npm, path, response) => {
      if (!isArchive(path)) return false;
      response.writeHead(200, { "content-length": "5000" }).write("half");
      setImmediate(() => response.destroy());
      return true;
    },
    /PLUGIN_FETCH/,
  ],
  [
    "gives the beginning of the archive as the whole",
    (_npm, path, response) => {
      if (!isArchive(path)) return false;
      response.end("half");
      return true;
    },
    /PLUGIN_FETCH: .*EINTEGRITY|integrity/,
  ],
  [
    "gives the archive of another package",
    (npm, ...asked) => {
      const other = /"dist":\{[^}]*\}/.exec(npm.registry.describe("other"))?.[0] ?? "";
      return replaced(/"dist":\{[^}]*\}/, other)(npm, ...asked);
    },
    /PLUGIN_UNSAFE: The registry has given another package for toy: other/,
  ],
  [
    "leads in circles",
    (_npm, path, response) => {
      response.writeHead(302, { location: `/${path}` }).end();
      return true;
    },
    /PLUGIN_FETCH: .*redirect/,
  ],
  [
    "fails",
    (_npm, _path, response) => {
      response.writeHead(500).end("no");
      return true;
    },
    /PLUGIN_FETCH: .*500/,
  ],
  [
    "answers with what is no JSON",
    (_npm, _path, response) => {
      response.end("<html>");
      return true;
    },
    /PLUGIN_FETCH/,
  ],
  [
    "gives an archive that never ends",
    (_npm, path, response) => {
      if (!isArchive(path)) return false;
      endless(response, "application/octet-stream");
      return true;
    },
    /PLUGIN_FETCH: .*too/,
  ],
];

test.for(LIES)("a registry that %s gets nothing installed, and leaves nothing", async ([, lie, told], { npm }) => {
  await npm.publishHelper();
  await npm.publish();
  await npm.publish({ id: "other", package: { name: "other" } });
  npm.registry.lie = (path, response) => lie(npm, path, response);
  const { code, err } = await npm.plugins("install", "toy", "--yes");
  expect([code !== 0, err]).toEqual([true, expect.stringMatching(told)]);
  expect(readdirSync(`${npm.state}/extensions`)).toEqual([]);
});
