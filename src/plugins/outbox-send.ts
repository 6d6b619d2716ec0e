import { AsyncLocalStorage } from "node:async_hooks";

const sending = new AsyncLocalStorage<true>();

/** Has a plugin's channel send a message of the outbox, which calls the hooks of that message itself. */
export const sendForOutbox = <T>(send: () => T): T => sending.run(true, send);

/** True inside of such a send: a channel that calls the hooks too must not call them a second time. */
export const isOutboxSend = (): boolean => sending.getStore() === true;
