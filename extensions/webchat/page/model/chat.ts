import type { Answers } from "openclaw/plugin-sdk/answers";
import { newId } from "../browser/ids.ts";
import {
  deleteToken,
  draftOf,
  draftPlace,
  keepDraft,
  type PagePlace,
  setAddress,
  setTried,
  storeToken,
  wasTried,
  type Tokens,
} from "./address.ts";
import { attachmentOf, editingOf, fileBytes, frameBytes } from "./attachments.ts";
import { PageConnection, NoAnswerError, RefusedError } from "./connection.ts";
import type { Exchange, Sent } from "./exchanges.ts";
import type { PageFile } from "./files.ts";
import { applyEvent } from "./gateway-events.ts";
import { agentInKey, isOwnChat, reachedPerson, sessionTitle, size, titleOf } from "./format.ts";
import { fields } from "./json.ts";
import { forgetUnsent, keepUnsent, keptUnsent } from "./kept-files.ts";
import type { Decision, Hello, Pairing } from "./protocol.ts";
import { Reading } from "./reading.ts";
import { type Editing, isOpen, openRow, type Panel, type PageView, rowOf } from "./state.ts";
import type { Store } from "./store.ts";
import { answeredLast, copyEnd, lastOwn, markdownOf } from "./turn-acts.ts";
import { type DisplayedTurn, shownTurns } from "./view.ts";
import { t } from "../words/words.ts";

/** The actions of a person on the page. Each returns at once; the state shows its result. */
export class Chat {
  readonly #store: Store;
  readonly #connection: PageConnection;
  readonly #reading: Reading;
  readonly #listeners = new Set<(event: string, payload: unknown) => void>();
  /** Whether the transcript was read on this connection; until then, messages remain queued. */
  #caughtUp = false;
  #isReplacing = false;
  /** Chats that this tab named. Their rows may not have been read again. */
  readonly #named = new Set<string>();
  /** The token in use; stored for the next visit as soon as the gateway accepts it. */
  #token: string | undefined;
  readonly #unsentTaken: Promise<void>;

  constructor(store: Store) {
    this.#store = store;
    this.#connection = new PageConnection({
      link: (link) => {
        this.#caughtUp &&= link.state === "connected";
        if (link.state === "connected") this.#accepted();
        if (link.state === "unauthorized" && this.#token !== undefined) deleteToken(this.#token);
        store.dispatch({ type: "link", link });
      },
      ready: (hello) => this.#begin(hello),
      event: (event, payload) => {
        applyEvent(store, this.#reading, { event, payload });
        for (const listener of this.#listeners) listener(event, payload);
      },
      gap: () => this.#attempt(this.#reading.everything()),
    });
    this.#reading = new Reading(store, this.#connection);
    this.#unsentTaken = this.#takeUpUnsent();
  }

  /**
   * Connects with the stored token, or with the token of the link. Any page can link here with wrong tokens until the gateway
   * locks this address out. So the link's token is used without a question only if no token is stored and none was refused
   * before. Otherwise the page offers it, and uses it when the person agrees.
   */
  signIn({ stored, fromLink }: Tokens): void {
    const isFirst = stored === undefined && fromLink !== undefined && !wasTried();
    this.#store.dispatch({ type: "offered", token: isFirst || fromLink === stored ? undefined : fromLink });
    if (stored !== undefined) return this.connect(stored);
    if (!isFirst) return this.#askForToken();
    setTried(true);
    this.connect(fromLink);
  }

  /** Offers the token of a link that was followed while the page is open. */
  offer(token: string): void {
    if (token !== this.#token) this.#store.dispatch({ type: "offered", token });
  }

  /** Connects with a token, and stores it for the next visit once the gateway accepts it. */
  connect(token: string): void {
    this.#token = token;
    this.#connection.open(token);
  }

  /** Uses or ignores the token of a link, as the person answered. */
  answerOffer(isAccepted: boolean): void {
    const { offered } = this.#store.state();
    this.#store.dispatch({ type: "offered", token: undefined });
    if (isAccepted && offered !== undefined) this.connect(offered);
  }

  #accepted(): void {
    if (this.#token !== undefined) storeToken(this.#token);
    setTried(false);
  }

  #askForToken(): void {
    this.#store.dispatch({ type: "link", link: { state: "unauthorized", message: "" } });
  }

  /** Connects now, without waiting for the next attempt. */
  retryNow(): void {
    this.#connection.retryNow();
  }

  /** Sends a message now, or as soon as the gateway is connected; never twice. */
  send(message: string, files: readonly PageFile[]): void {
    const runId = newId();
    const sent = { text: message, files, state: "queued" as const };
    const at = Date.now();
    keepUnsent({ runId, sessionKey: this.#store.state().sessionKey, text: message, at }, files);
    this.#store.dispatch({ type: "send", runId, sent, at });
    this.#attempt(this.#deliver(runId));
  }

  /** Shows what was not sent before a reload. The gateway knows a message by its run, so that one which it has is not doubled. */
  async #takeUpUnsent(): Promise<void> {
    for (const { runId, sessionKey, text, files, at } of await keptUnsent())
      this.#store.dispatch({ type: "send", runId, sent: { text, files, state: "queued" }, at, sessionKey });
  }

  /** Sends a refused message again, as a new one. */
  resend(runId: string): void {
    const sent = this.#store.state().exchanges.find((exchange) => exchange.runId === runId)?.sent;
    if (sent === undefined) return;
    this.#store.dispatch({ type: "dropped", runId });
    this.send(sent.text, sent.files);
  }

  /** Lets the person write a message of the open session anew; ends that when called without one. */
  edit(turn?: DisplayedTurn): void {
    if (turn === undefined) this.#startEditing(undefined);
    else this.#attempt(this.#edit(turn));
  }

  /** Takes back a message of the open session with everything after it, and sends another in its place. */
  replace(entryId: string, message: string, files: readonly PageFile[]): void {
    if (this.#isReplacing) return;
    this.#isReplacing = true;
    const replaced = this.#replace(entryId, message, files);
    this.#attempt(replaced.finally(() => (this.#isReplacing = false)));
  }

  /** Lets the person write the last own message anew, if there is one and the gateway offers that. */
  editLast(): void {
    if (this.#store.state().hello?.methods.includes("sessions.rewind") === true) this.#attempt(this.#editLast());
  }

  /** Shows another version of a message and the messages after it. The next message continues that version. */
  showVersion(leafEntryId: string): void {
    const { sessionKey } = this.#store.state();
    this.#attempt(this.#connection.request("sessions.branches.switch", { sessionKey, leafEntryId }));
  }

  /** Sends the message to which the last answer is one again in its place, for another answer. */
  retryLast(): void {
    const said = answeredLast(this.#shown());
    if (said !== undefined) this.#attempt(this.#retry(said));
  }

  /** The bytes of a file of a conversation. Rejects with an `Error` whose message is for the person. */
  file(url: string): Promise<Blob> {
    return fileBytes(url, this.#token);
  }

  /** Opens a new chat with a copy of the conversation: up to an answer, or before a message, whose text is then in the box. */
  branch(turn: DisplayedTurn): void {
    this.#attempt(this.#branch(turn));
  }

  /** Stops all runs of the open session. What was sent here and waits for its turn comes back into the box. */
  abort(): void {
    this.#attempt(this.#abort());
  }

  /** Opens the search in the open session, or closes it. */
  find(isWanted: boolean): void {
    this.#store.dispatch({ type: "find", isOpen: isWanted });
  }

  /** Opens the settings of the open session, or closes them. */
  settings(isWanted: boolean): void {
    this.#store.dispatch({ type: "settings", isOpen: isWanted });
  }

  /** Puts words before the unsent text of the open session. */
  beginMessage(words: string): void {
    const { sessionKey, composing } = this.#store.state();
    const place = draftPlace(sessionKey, composing.editing);
    keepDraft(place, words + draftOf(place));
    this.#store.dispatch({ type: "given back" });
  }

  /** The last finished answer of the open session as Markdown; empty when there is none. */
  lastAnswer(): string {
    const isAnswer = (turn: DisplayedTurn): boolean => turn.role === "assistant" && turn.live !== true;
    const last = this.#shown().findLast((turn) => isAnswer(turn) && markdownOf(turn) !== "");
    return last === undefined ? "" : markdownOf(last);
  }

  /** Shows the open session back to a message. */
  backTo(messageId: string): Promise<void> {
    return this.#reading.backTo(messageId);
  }

  /** Sends the text to the person of a chat app's conversation, without the agent; answers how that went. */
  async sendToPerson(sessionKey: string, message: string, key: string): Promise<{ isSent: boolean; told: string }> {
    const person = reachedPerson(sessionKey);
    if (person === undefined) return { isSent: false, told: t("This conversation has no person.") };
    const request = { ...person, message, idempotencyKey: key, tellFailure: true };
    const { state, reason } = await this.ask("send", request);
    if (state === "failed")
      return { isSent: false, told: t("Not sent: {reason}.", { reason: reason ?? t("the reason is not known") }) };
    await this.#note(sessionKey, message);
    return {
      isSent: true,
      told:
        state === "sent"
          ? t("Sent to the person.")
          : t("Queued: {reason}.", { reason: reason ?? t("it is sent later") }),
    };
  }

  /** Withdraws a message that waits for its turn; `id` is that of the gateway. Its text comes back into the box if that is empty. */
  withdraw(id: number, runId: string): void {
    this.#attempt(this.#withdraw(id, runId));
  }

  /** Opens another session. */
  open(sessionKey: string): void {
    this.#store.dispatch({ type: "open", sessionKey });
    setAddress({ sessionKey, view: undefined });
    this.#attempt(this.#reading.opened());
  }

  /** Shows a view in place of the open session, at a key of the config if it has one; the session again without a view. */
  visit(view?: PageView, key?: string): void {
    this.#store.dispatch({ type: "view", view, key });
    setAddress({ sessionKey: this.#store.state().sessionKey, view, key });
  }

  /** Shows the place of an address to which the person went back. */
  goTo({ sessionKey, view, key }: PagePlace): void {
    if (sessionKey !== this.#store.state().sessionKey) {
      this.#store.dispatch({ type: "open", sessionKey });
      this.#attempt(this.#reading.opened());
    }
    this.#store.dispatch({ type: "view", view, key });
  }

  /** Calls back after each of these events of the gateway. Returns the end of it. */
  listen(events: readonly string[], heard: (payload: unknown) => void): () => void {
    const listener = (event: string, payload: unknown): void => {
      if (events.includes(event)) heard(payload);
    };
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Opens a session that nobody has used before, with an agent; with the default one when unset. */
  startNew(agent?: string): void {
    const isOther = agent !== undefined && agent !== this.#store.state().hello?.defaultAgent;
    this.open(`${isOther ? `agent:${agent}:` : ""}webchat:default:${newId()}`);
  }

  /** Reads older sessions. */
  loadOlderSessions(): void {
    this.#attempt(this.#reading.moreSessions());
  }

  /** Reads earlier messages. */
  loadEarlier(): void {
    this.#attempt(this.#reading.earlier());
  }

  /** Deletes a session; if it is open, opens the main session. */
  remove(sessionKey: string): void {
    const wasOpen = isOpen(this.#store.state(), sessionKey);
    this.#attempt(this.#delete(sessionKey));
    if (wasOpen) this.open("main");
  }

  /** Names a session; an empty name removes the name. */
  rename(sessionKey: string, label: string): void {
    this.#attempt(this.#patch(sessionKey, { label: label === "" ? null : label }));
  }

  /** Pins a session, or takes that back. */
  pin(sessionKey: string, isPinned: boolean): void {
    this.#attempt(this.#patch(sessionKey, { pinned: isPinned }));
  }

  /** Puts a session into the archive; if it is open, opens the main session. The page then offers to bring it back. */
  archive(key: string, title: string): void {
    const wasOpen = isOpen(this.#store.state(), key);
    const done = this.#patch(key, { archived: true });
    this.#attempt(done.then(() => this.#store.dispatch({ type: "archived", chat: { key, title, wasOpen } })));
    if (wasOpen) this.open("main");
  }

  /** Puts the open session into the archive, once it has a message. */
  archiveOpen(): void {
    const row = openRow(this.#store.state());
    if (row?.updatedAt !== undefined) this.archive(row.key, sessionTitle(row.key, row.label));
  }

  /** Takes the session out of the archive that went there last, or only offers that no more. */
  forgetArchived(bringBack: boolean): void {
    const { archived } = this.#store.state().shown;
    this.#store.dispatch({ type: "archived" });
    if (archived === undefined || !bringBack) return;
    this.#attempt(this.#patch(archived.key, { archived: false }));
    if (archived.wasOpen) this.open(archived.key);
  }

  /** Chooses the model of the open session, as `provider/id`. */
  chooseModel(model: string): void {
    this.#attempt(this.#patch(this.#store.state().sessionKey, { model }));
  }

  /** Chooses how much the model thinks in the open session; an empty level resets the choice. */
  chooseThinking(level: string): void {
    this.#attempt(this.#patch(this.#store.state().sessionKey, { thinkingLevel: level === "" ? null : level }));
  }

  /** Answers a command that waits for approval. */
  decide(id: string, decision: Decision): void {
    this.#attempt(this.#decide(id, decision));
  }

  /** Approves the pairing of a stranger, who gets a message about it; as an owner, where the person says so. */
  admit(pairing: Pairing, asOwner = false): void {
    this.#attempt(this.#admit(pairing, asOwner));
  }

  /** Sends a stranger away, whose code then counts no more. */
  refuse({ channel, account, code }: Pairing): void {
    const refusal = this.#connection.request("pairing.reject", { channel, accountId: account, code });
    this.#attempt(refusal.then(() => this.#reading.people()));
  }

  /** Whether this client may change the model of the gateway and its key. */
  get mayChangeModel(): boolean {
    return this.#store.state().hello?.methods.includes("openclaw.setup.activate") === true;
  }

  /** Opens a dialog, or closes the open one. */
  show(panel?: Panel): void {
    this.#store.dispatch({ type: "panel", panel });
  }

  /** Reads what shows the model of new conversations, after it was changed. */
  modelChanged(): void {
    this.#attempt(Promise.all([this.#reading.status(), this.#reading.models(), this.#reading.sessions()]));
  }

  /** Reads who waits and who owns, after somebody has decided about it. */
  peopleChanged(): void {
    this.#attempt(this.#reading.people());
  }

  /** Makes a request to the gateway outside of the chat. Rejects with an `Error` whose message is for the person. */
  async ask<Method extends keyof Answers>(method: Method, params: Record<string, unknown>): Promise<Answers[Method]> {
    try {
      return await this.#connection.request(method, params);
    } catch (error) {
      throw new Error(messageOf(error), { cause: error });
    }
  }

  /** Shows a notice to the person; removes it when called without a text. */
  showNotice(notice?: string): void {
    this.#store.dispatch({ type: "notice", text: notice });
  }

  #begin(hello: Hello): void {
    this.#store.dispatch({ type: "hello", hello });
    this.#attempt(this.#catchUp());
  }

  /** Reads the transcript, then sends the queued messages. In this order nothing is lost or shown twice. */
  async #catchUp(): Promise<void> {
    await Promise.all([this.#reading.everything(), this.#unsentTaken]);
    this.#caughtUp = true;
    for (const exchange of this.#store.state().exchanges) {
      if (exchange.sent?.state === "queued" || exchange.sent?.state === "sending") await this.#deliver(exchange.runId);
    }
  }

  async #deliver(runId: string): Promise<void> {
    if (this.#caughtUp && !this.#store.state().transcript.loaded) await this.#reading.history();
    const exchange = this.#store.state().exchanges.find((item) => item.runId === runId);
    if (exchange?.sent === undefined || !this.#caughtUp) return;
    const limit = this.#store.state().hello?.limits.payload ?? 0;
    // A frame above the limit would end each connection.
    if (frameBytes(exchange.sent) > limit)
      this.#refuse(runId, t("Too large: the gateway accepts messages up to {limit}.", { limit: size(limit) }));
    else await this.#post(exchange, exchange.sent);
  }

  async #post(exchange: Exchange, sent: Sent): Promise<void> {
    const { runId, sessionKey } = exchange;
    this.#store.dispatch({ type: "sent", runId, state: "sending" });
    try {
      const { status } = await this.#connection.request("chat.send", sendParams(exchange, sent));
      forgetUnsent(runId);
      this.#store.dispatch({ type: "sent", runId, state: "accepted" });
      // The gateway already had the message. Its run may have ended while the page was disconnected.
      if (status !== "started") await this.#reading.settled();
    } catch (error) {
      if (!(error instanceof NoAnswerError)) return this.#refuse(runId, messageOf(error));
      this.#store.dispatch({ type: "sent", runId, state: "queued" });
      // The connection is open but the gateway does not answer, so the page reconnects.
      return this.#caughtUp ? this.#connection.retryNow() : undefined;
    }
    await this.#nameAfter(sessionKey, sent.text);
  }

  async #replace(entryId: string, message: string, files: readonly PageFile[]): Promise<void> {
    const { sessionKey } = this.#store.state();
    await this.#connection.request("sessions.rewind", { sessionKey, entryId });
    const isShown = isOpen(this.#store.state(), sessionKey);
    this.#store.dispatch({ type: "rewound", sessionKey });
    if (!isShown) return keepDraft(sessionKey, message);
    this.edit();
    try {
      await this.#reading.branched();
    } finally {
      this.send(message, files);
    }
  }

  #startEditing(editing: Editing | undefined): void {
    const { sessionKey, composing } = this.#store.state();
    const before = composing.editing;
    if (before !== undefined) keepDraft(draftPlace(sessionKey, before), "");
    if (editing !== undefined) keepDraft(draftPlace(sessionKey, editing), editing.text);
    this.#store.dispatch({ type: "edit", editing });
  }

  async #edit(turn: DisplayedTurn): Promise<void> {
    const { sessionKey } = this.#store.state();
    const editing = await editingOf(turn, (url) => this.file(url));
    if (isOpen(this.#store.state(), sessionKey)) this.#startEditing(editing);
  }

  async #retry(said: DisplayedTurn): Promise<void> {
    const again = await editingOf(said, (url) => this.file(url));
    if (again !== undefined) this.replace(again.entryId, again.text, again.files);
  }

  async #abort(): Promise<void> {
    const { sessionKey, waiting } = this.#store.state();
    const runs = new Set(waiting.map(({ runId }) => runId));
    await this.#connection.request("chat.abort", { sessionKey });
    // A message that has begun to be answered is in the transcript, and one with files stays where it can be sent again.
    const dropped = this.#store.state().exchanges.filter((exchange) => {
      const isUnbegun = exchange.reply.parts.length === 0 && exchange.reply.state !== "running";
      return runs.has(exchange.runId) && isUnbegun && exchange.sent?.files.length === 0;
    });
    if (dropped.length === 0) return;
    for (const { runId } of dropped) this.#store.dispatch({ type: "dropped", runId });
    const texts = [draftOf(sessionKey), ...dropped.map(({ sent }) => sent?.text ?? "")];
    keepDraft(sessionKey, texts.filter((text) => text !== "").join("\n\n"));
    this.#store.dispatch({ type: "given back" });
  }

  /** Writes into the conversation what its person got, for those who read it; the agent does not see it. */
  async #note(sessionKey: string, text: string): Promise<void> {
    if (this.#store.state().hello?.methods.includes("chat.inject") !== true) return;
    await this.ask("chat.inject", { sessionKey, message: text, label: t("To the person") });
    await this.#reading.history();
  }

  async #editLast(): Promise<void> {
    const last = lastOwn(this.#shown());
    if (last === undefined) return;
    if (last.messageIds.length > 0) return this.#edit(last);
    // The transcript has a message before its answer ends.
    await this.#reading.history();
    const written = lastOwn(this.#shown());
    if (written !== undefined && written.messageIds.length > 0) await this.#edit(written);
  }

  #shown(): readonly DisplayedTurn[] {
    const state = this.#store.state();
    return shownTurns(
      state.transcript.turns,
      state.exchanges.filter(({ sessionKey }) => isOpen(state, sessionKey)),
    );
  }

  async #branch(turn: DisplayedTurn): Promise<void> {
    const { sessionKey, transcript } = this.#store.state();
    const entryId = copyEnd(transcript.turns, turn);
    const key = entryId === undefined ? await this.#wholeCopy() : await this.#copyBefore(entryId, turn.role === "user");
    if (!isOpen(this.#store.state(), sessionKey)) return this.#reading.sessions();
    this.open(key);
    await this.#reading.sessions();
  }

  async #wholeCopy(): Promise<string> {
    const { sessionKey, hello } = this.#store.state();
    const agentId = agentInKey(sessionKey, hello?.defaultAgent);
    const whole = { parentSessionKey: sessionKey, fork: true, ...(agentId !== undefined && { agentId }) };
    return (await this.#connection.request("sessions.create", whole)).key;
  }

  async #copyBefore(entryId: string, isText: boolean): Promise<string> {
    const { sessionKey } = this.#store.state();
    const copy = await this.#connection.request("sessions.fork", { sessionKey, entryId });
    if (isText) keepDraft(copy.sessionKey, copy.editorText);
    return copy.sessionKey;
  }

  #refuse(runId: string, error: string): void {
    forgetUnsent(runId);
    this.#store.dispatch({ type: "sent", runId, state: "failed", error });
  }

  /** Names a chat that has no name yet after the message: a new one, a branch, or one that began with a command. */
  async #nameAfter(sessionKey: string, message: string): Promise<void> {
    const title = titleOf(message);
    if (!isOwnChat(sessionKey) || title === "" || message.startsWith("/") || !this.#isUnnamed(sessionKey)) return;
    this.#named.add(sessionKey);
    for (const label of [title, ...[2, 3, 4, 5].map((number) => `${title} (${number})`)])
      if (await this.#mayName(sessionKey, label)) return;
  }

  /** Without its row in the list, only a conversation that has no message is known to have no name. */
  #isUnnamed(sessionKey: string): boolean {
    if (this.#named.has(sessionKey)) return false;
    const state = this.#store.state();
    const row = rowOf(state, sessionKey);
    if (row !== undefined) return row.label === undefined;
    return isOpen(state, sessionKey) && state.transcript.turns.length === 0;
  }

  /** Whether the name could be given: two conversations have no name in common. */
  async #mayName(key: string, label: string): Promise<boolean> {
    try {
      await this.#patch(key, { label });
      return true;
    } catch (error) {
      if (error instanceof RefusedError) return false;
      throw error;
    }
  }

  async #delete(key: string): Promise<void> {
    await this.#connection.request("sessions.delete", { key });
    this.#store.dispatch({ type: "cleared", sessionKey: key });
    await this.#reading.sessions();
  }

  async #withdraw(id: number, runId: string): Promise<void> {
    const { sessionKey, waiting } = this.#store.state();
    const own = waiting.find((message) => message.id === id && message.sender === undefined && message.files === 0);
    await this.#connection.request("inbox.drop", { id });
    this.#store.dispatch({ type: "dropped", runId });
    if (own === undefined || draftOf(sessionKey) !== "") return;
    keepDraft(sessionKey, own.text);
    this.#store.dispatch({ type: "given back" });
  }

  async #patch(key: string, change: Record<string, unknown>): Promise<void> {
    await this.#connection.request("sessions.patch", { key, ...change });
    await this.#reading.sessions();
  }

  async #admit({ channel, account, code, senderId }: Pairing, asOwner: boolean): Promise<void> {
    await this.#connection.request("pairing.approve", { channel, accountId: account, code, notify: true });
    if (asOwner) await this.#connection.request("owners.add", { channel, senderId });
    await this.#reading.people();
  }

  async #decide(id: string, decision: Decision): Promise<void> {
    await this.#connection.request("exec.approval.resolve", { id, decision });
    this.#store.dispatch({ type: "resolved", id });
  }

  /** Shows a refusal. A lost connection is already visible, and after it the page reads everything again. */
  #attempt(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      if (!(error instanceof NoAnswerError)) this.showNotice(messageOf(error));
    });
  }
}

function messageOf(error: unknown): string {
  if (error instanceof RefusedError) return error.refusal.message;
  return error instanceof Error ? error.message : String(fields(error)["message"]);
}

function sendParams({ sessionKey, runId }: Exchange, { text, files }: Sent): Record<string, unknown> {
  const params = { sessionKey, message: text, idempotencyKey: runId };
  return files.length === 0 ? params : { ...params, attachments: files.map(attachmentOf) };
}
