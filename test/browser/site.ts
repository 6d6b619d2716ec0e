import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Answer = (asked: IncomingMessage, answer: ServerResponse, body: string) => void;

const page =
  (body: string, head = ""): Answer =>
  (_asked, answer) => {
    answer.writeHead(200, { "content-type": "text/html; charset=utf-8" });
    answer.end(`<!doctype html><title>A page</title>${head}<body>${body}</body>`);
  };

const LOGIN = `<form method="post" action="/login"><label>Name <input name="name"></label>
  <label>Password <input name="password" type="password"></label>
  <label>Stay <input name="stay" type="checkbox"></label>
  <label>Role <select name="role"><option>reader<option>writer</select></label><button>Log in</button></form>`;
const TABLE = `<h1>Orders</h1><table><tr><th>Item<th>Price</tr><tr><td>Lamp<td>12</tr></table>
  <a href="/file">Get the list</a><button onclick="document.title = confirm('Really?') ? 'yes' : 'no'">Delete</button>
  <p hidden>invisible</p>`;

/** Pages on this machine, with what was asked of them. */
export class Site {
  readonly asked: string[] = [];
  readonly posted: string[] = [];
  readonly pages = new Map<string, Answer>([
    ["/", page(LOGIN)],
    ["/orders", page(TABLE)],
    ["/secret", page("the secret")],
    ["/many", page("<button onclick=\"for (let n = 0; n < 200; n++) window.open('/orders')\">Open many</button>")],
    ["/upload", page('<input type="file" aria-label="Your file">')],
  ]);
  readonly #server: Server;

  constructor() {
    this.#server = createServer((asked, answer) => {
      this.#answer(asked, answer).catch((error: unknown) => answer.destroy(error as Error));
    });
    this.pages.set("/login", (_asked, answer, body) => {
      this.posted.push(body);
      answer.writeHead(302, { location: "/orders", "set-cookie": "who=ada; Path=/; Max-Age=3600" }).end();
    });
    this.pages.set("/file", (_asked, answer) => {
      answer.writeHead(200, { "content-disposition": 'attachment; filename="../list of orders.csv"' });
      answer.end("Lamp,12\n");
    });
  }

  /** A page with this content, as its path. */
  show(path: string, body: string): void {
    this.pages.set(path, page(body));
  }

  redirect(path: string, to: string): void {
    this.pages.set(path, (_asked, answer) => answer.writeHead(302, { location: to }).end());
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path: string, host = "127.0.0.1"): string {
    return `http://${host}:${this.port}${path}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { pathname } = new URL(asked.url ?? "/", "http://site");
    this.asked.push(`${asked.headers.host ?? ""} ${pathname}`);
    let body = "";
    for await (const chunk of asked) body += String(chunk);
    const found = this.pages.get(pathname);
    if (found) found(asked, answer, body);
    else answer.writeHead(404).end("not found");
  }
}
