// Generates the package's information about bundled software: THIRD_PARTY_NOTICES and a CycloneDX SBOM.
import fs from "node:fs";
import path from "node:path";
import { byText, dependenciesOf, nameAt } from "./lock.mjs";

/** Licenses that require only a notice. Software with any other license may not be bundled. */
const ALLOWED = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "Python-2.0",
  "Unlicense",
]);

/** Packages that contain code of another package which no lock lists: `name` to that code. */
const EMBEDDED = {
  "@vladfrangu/async_event_emitter": "node-inspect-extracted (MIT), which is code of Node.js (MIT)",
};

/** The folders (paths in the lock) of the packages that the bundles contain according to esbuild's metafiles. */
export function bundledPlaces(metafiles, root) {
  const places = new Set();
  for (const { outputs } of metafiles) {
    for (const { inputs } of Object.values(outputs)) {
      for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
        const place = placeOfFile(input, root);
        if (place && bytesInOutput > 0) places.add(place);
      }
    }
  }
  return [...places].sort(byText);
}

/** The path of an input, which may begin with the namespace of a plugin. */
function placeOfFile(input, root) {
  const file = path.relative(root, path.resolve(root, input.replace(/^[a-z][a-z-]+:/, ""))).replaceAll("\\", "/");
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
}

/** Name, version, license and its text. Throws for a package without a license, or with one that is not allowed. */
export function packageAt(place, root) {
  const folder = path.join(root, place);
  const { name, version, license, author } = JSON.parse(fs.readFileSync(path.join(folder, "package.json"), "utf8"));
  checkLicense(name, version, license);
  return {
    place,
    name,
    version,
    license,
    text: licenseText(folder),
    author: typeof author === "object" ? author?.name : author,
  };
}

function checkLicense(name, version, license) {
  if (ALLOWED.has(license)) return;
  const what = typeof license === "string" && license !== "" ? `the license ${license}` : "no license";
  throw new Error(`${name}@${version} has ${what} and would be part of the bundle: see scripts/licenses.mjs`);
}

/** The package's license text: its license and notice files, else the license section of its README; undefined without both. */
function licenseText(folder) {
  const files = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  const named = files
    .map((entry) => entry.name)
    .filter((name) => /^(?:licen[cs]e|copying|notice)(?:[.-]|$)/i.test(name));
  const texts = named.sort().map((name) => tidy(fs.readFileSync(path.join(folder, name), "utf8")));
  if (texts.length > 0) return texts.join("\n\n");
  const readme = files.find((entry) => /^readme(?:\.|$)/i.test(entry.name));
  const told = readme && licensePart(fs.readFileSync(path.join(folder, readme.name), "utf8"));
  return told && /copyright/i.test(told) ? tidy(told) : undefined;
}

/** The text from the heading "License" to the next heading. */
const licensePart = (readme) =>
  /^(?:#+ *licen[cs]e|licen[cs]e\r?\n[-=]{3,}) *$([\s\S]*?)(?=^#+ |^[^\n]+\n[-=]{3,}$|$(?![\s\S]))/im.exec(readme)?.[1];

const tidy = (text) =>
  text
    .replaceAll("\r\n", "\n")
    .replaceAll(/[ \t]+$/gm, "")
    .trim();

const RULE = "-".repeat(80);

/** The content of THIRD_PARTY_NOTICES. Packages with the same text are listed together. */
export function noticesOf(packages) {
  const byText = Map.groupBy(packages, ({ license, text }) => text ?? `${license} without a text`);
  const parts = [...byText.values()].map((group) => `${group.map(lineOf).join("\n")}\n\n${textOf(group[0], packages)}`);
  const list = packages.map(({ name, version, license }) => `  ${name} ${version}: ${license}`).join("\n");
  return `${INTRODUCTION}\n\n${list}\n\n${RULE}\n${parts.join(`\n\n${RULE}\n`)}\n`;
}

const INTRODUCTION = `This package contains code of the packages below, each under its own license. sbom.json lists them for programs, with the
hashes of the packages from the registry.`;

function lineOf({ name, version, license, text, author }) {
  const holder = text || !author ? "" : `, Copyright (c) ${author}`;
  const carried = Object.hasOwn(EMBEDDED, name) ? `, with ${EMBEDDED[name]}` : "";
  return `${name} ${version} (${license})${holder}${carried}`;
}

function textOf({ license, text }, packages) {
  if (text) return text;
  const whole = packages.find((other) => other.license === license && other.text);
  const where = whole ? ` For the text of ${license} see ${whole.name}.` : "";
  return `Published without a text of its license; the package.json declares ${license}.${where}`;
}

/** How a component is installed on a machine. */
const SCOPES = { bundled: "required", installed: "required", optional: "optional", fetched: "optional" };

/**
 * A CycloneDX 1.6 document. `parts` has the lock paths of the components by the way of their installation: in the bundle,
 * by npm, by npm on matching platforms, or fetched for a channel that is on. The same lock gives the same document.
 */
export function sbomOf({ lock, manifest, parts }) {
  const all = Object.entries(parts).flatMap(([way, places]) => places.map((place) => ({ way, place })));
  const unique = new Map(all.toReversed().map((one) => [refOf(lock, one.place), one]));
  const components = [...unique.values()].map(({ place, way }) => componentOf(lock, place, way));
  components.sort((a, b) => (a["bom-ref"] < b["bom-ref"] ? -1 : 1));
  const root = purlOf(manifest.name, manifest.version);
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": root,
        ...namesOf(manifest.name),
        version: manifest.version,
        purl: root,
        licenses: [{ license: { id: manifest.license } }],
      },
    },
    components,
    dependencies: [
      { ref: root, dependsOn: components.map((component) => component["bom-ref"]) },
      ...[...unique].map(([ref, { place }]) => edgesOf({ lock, ref, place, unique })),
    ],
  };
}

function edgesOf({ lock, ref, place, unique }) {
  const needs = dependenciesOf(lock, place).map((found) => refOf(lock, found));
  return { ref, dependsOn: [...new Set(needs.filter((one) => unique.has(one)))].sort() };
}

function componentOf(lock, place, way) {
  const { version, license, integrity } = lock.packages[place];
  const name = lock.packages[place].name ?? nameAt(place);
  const purl = purlOf(name, version);
  return {
    type: "library",
    "bom-ref": purl,
    ...namesOf(name),
    version,
    scope: SCOPES[way],
    hashes: hashesOf(integrity),
    licenses: [/^[\w.-]+$/.test(license) ? { license: { id: license } } : { expression: license }],
    purl,
    properties: [{ name: "openclaw:delivery", value: way }],
  };
}

/** An npm hash (`sha512-<base64>`) in the form of CycloneDX. */
const hashesOf = (integrity) =>
  integrity
    .split(/\s+/)
    .map((one) => /^sha(\d+)-(.+)$/.exec(one))
    .map(([, bits, base64]) => ({
      alg: bits === "1" ? "SHA-1" : `SHA-${bits}`,
      content: Buffer.from(base64, "base64").toString("hex"),
    }));

const refOf = (lock, place) => purlOf(lock.packages[place].name ?? nameAt(place), lock.packages[place].version);

const purlOf = (name, version) => `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;

function namesOf(name) {
  const [first, second] = name.split("/");
  return second ? { group: first, name: second } : { name };
}
