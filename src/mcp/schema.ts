import { isFields, type Fields } from "../utils/fields.ts";
import { cleanText } from "../utils/text/clean-text.ts";

const MOST_BYTES = 16_384;
const MOST_DEPTH = 12;
const MOST_NODES = 1500;
/** Keys of all nodes together; a node that several references lead to counts each time. */
const MOST_KEYS = 50_000;
const MOST_TYPES = 10;
/** Characters of a reference; it is split into its steps each time. */
const MOST_REF = 300;
const MOST_DESCRIPTION = 500;
const MOST_CHOICES = 200;
const MOST_NAME = 128;

/** Schema that allows any arguments, for a tool without a usable schema. */
const ANY_OBJECT: Fields = { type: "object", properties: {}, additionalProperties: true };

const TYPES = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);

interface Walk {
  readonly root: unknown;
  nodes: number;
  keys: number;
}

const isOver = ({ nodes, keys }: Walk): boolean => nodes > MOST_NODES || keys > MOST_KEYS;

/**
 * The schema of a server's tool as it is shown to models: an object of bounded size, depth and text. References inside
 * the schema are resolved, references that lead out of it or into themselves allow anything; nothing is ever fetched.
 * The server checks the arguments itself.
 */
export function cleanSchema(given: unknown): Fields {
  const walk: Walk = { root: given, nodes: 0, keys: 0 };
  const cleaned = cleanNode(given, walk, 0);
  if (!isFields(cleaned) || isOver(walk)) return ANY_OBJECT;
  const schema = {
    ...cleaned,
    type: "object",
    properties: isFields(cleaned["properties"]) ? cleaned["properties"] : {},
  };
  return Buffer.byteLength(JSON.stringify(schema)) > MOST_BYTES ? ANY_OBJECT : schema;
}

function cleanNode(given: unknown, walk: Walk, depth: number): unknown {
  walk.nodes += 1;
  if (typeof given === "boolean") return given;
  if (!isFields(given) || depth > MOST_DEPTH || isOver(walk)) return {};
  const ref = given["$ref"];
  if (typeof ref === "string") return cleanNode(resolved(ref, walk.root), walk, depth + 1);
  walk.keys += Object.keys(given).length;
  if (isOver(walk)) return {};
  const below = (node: unknown) => cleanNode(node, walk, depth + 1);
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) => {
      const cleaned = KEYWORDS.get(key)?.(value, below);
      return cleaned === undefined ? [] : [[key, cleaned]];
    }),
  );
}

type Clean = (value: unknown, below: (node: unknown) => unknown) => unknown;

const plainValue: Clean = (value) => {
  if (typeof value === "string") return cleanText(value, MOST_DESCRIPTION);
  return isScalar(value) ? value : undefined;
};

const choices: Clean = (value, below) =>
  Array.isArray(value)
    ? value
        .slice(0, MOST_CHOICES)
        .filter(isChoice)
        .map((one) => plainValue(one, below))
    : undefined;

const schemas: Clean = (value, below) =>
  Array.isArray(value) ? value.slice(0, MOST_CHOICES).map((one: unknown) => below(one)) : undefined;

/** The text of a name reaches models too, and a name that was changed would not be the server's. */
const isPlainName = (name: string): boolean => name.length <= MOST_NAME && cleanText(name, MOST_NAME) === name.trim();

/** A property `__proto__` would change what every object inherits. */
const properties: Clean = (value, below) =>
  isFields(value)
    ? Object.fromEntries(
        Object.entries(value)
          // The slice has one node more than a schema may have, so that a larger schema is still given up.
          .slice(0, MOST_NODES + 1)
          .filter(([name]) => name !== "__proto__" && isPlainName(name))
          .map(([name, node]) => [name, below(node)]),
      )
    : undefined;

const schema: Clean = (value, below) => below(value);

const PLAIN =
  "title format description const default minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength " +
  "minItems maxItems uniqueItems minProperties maxProperties";

/**
 * The keywords that are kept. `pattern` is not kept: the gateway would run the server's expression on the model's
 * arguments.
 */
const KEYWORDS: ReadonlyMap<string, Clean> = new Map<string, Clean>([
  ...PLAIN.split(" ").map((key): [string, Clean] => [key, plainValue]),
  ["type", cleanType],
  ["enum", choices],
  ["required", choices],
  ["examples", choices],
  ["properties", properties],
  ["items", schema],
  ["additionalProperties", schema],
  ["not", schema],
  ["anyOf", schemas],
  ["oneOf", schemas],
  ["allOf", schemas],
  ["prefixItems", schemas],
]);

function cleanType(value: unknown): unknown {
  const known = (Array.isArray(value) ? value.slice(0, MOST_TYPES) : [value]).filter(
    (one) => typeof one === "string" && TYPES.has(one),
  );
  if (known.length === 0) return undefined;
  return Array.isArray(value) ? known : known[0];
}

const isScalar = (value: unknown): boolean =>
  value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean";

const isChoice = (value: unknown): boolean =>
  isScalar(value) && (typeof value !== "string" || value.length <= MOST_DESCRIPTION);

/** Target of a reference inside the document; undefined for every other reference. */
function resolved(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#/") || ref.length > MOST_REF) return undefined;
  let node = root;
  for (const part of ref.slice(2).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    node = isFields(node) && Object.hasOwn(node, name) ? node[name] : undefined;
  }
  return node;
}
