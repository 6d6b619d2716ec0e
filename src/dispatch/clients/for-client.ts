import type { InboundMessage } from "../../types/chat/message.ts";

/** Whether a client of the operator reads the answer, and no chat of a channel does. */
export const isForClient = ({ options }: InboundMessage): boolean =>
  options?.operator === true && options.deliverTo === undefined;
