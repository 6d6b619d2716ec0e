import type { proto, WAMessageContent } from "@whiskeysockets/baileys";

/** A message of a business with buttons, a list or a product: its texts in their order, and the file above them. */
interface Card {
  readonly texts: readonly Text[];
  readonly header?: Pick<WAMessageContent, "imageMessage" | "videoMessage" | "documentMessage">;
}

type Text = string | null | undefined;

/** The card that a message is, if it is one. */
export function cardOf(content: WAMessageContent): Card | undefined {
  const { buttonsMessage, listMessage, interactiveMessage, productMessage, orderMessage } = content;
  const template = content.templateMessage ?? content.highlyStructuredMessage?.hydratedHsm;
  if (buttonsMessage) return buttonsCard(buttonsMessage);
  if (listMessage) return listCard(listMessage);
  if (template) return templateCard(template);
  if (interactiveMessage) return interactiveCard(interactiveMessage);
  if (productMessage) return productCard(productMessage);
  return orderMessage ? { texts: [orderLine(orderMessage), orderMessage.message] } : undefined;
}

function buttonsCard(buttons: proto.Message.IButtonsMessage): Card {
  const labels = (buttons.buttons ?? []).map(({ buttonText }) => buttonText?.displayText);
  return { texts: [buttons.text, buttons.contentText, buttons.footerText, choices(labels)], header: buttons };
}

function listCard({ title, description, footerText, sections }: proto.Message.IListMessage): Card {
  const rows = (sections ?? []).flatMap((section) => section.rows ?? []);
  return { texts: [title, description, footerText, choices(rows.map((row) => row.title))] };
}

function templateCard(template: proto.Message.ITemplateMessage): Card {
  if (template.interactiveMessageTemplate) return interactiveCard(template.interactiveMessageTemplate);
  const row = template.hydratedTemplate ?? template.hydratedFourRowTemplate;
  if (!row) return { texts: [] };
  const labels = (row.hydratedButtons ?? []).map(
    ({ quickReplyButton, urlButton, callButton }) => (quickReplyButton ?? urlButton ?? callButton)?.displayText,
  );
  const { hydratedTitleText, hydratedContentText, hydratedFooterText } = row;
  return { texts: [hydratedTitleText, hydratedContentText, hydratedFooterText, choices(labels)], header: row };
}

function interactiveCard({ header, body, footer }: proto.Message.IInteractiveMessage): Card {
  const texts = [header?.title, header?.subtitle, body?.text, footer?.text];
  return { texts, ...(header && { header }) };
}

function productCard({ product, body, footer }: proto.Message.IProductMessage): Card {
  const price = priceOf(product?.salePriceAmount1000 ?? product?.priceAmount1000, product?.currencyCode);
  const title = ["Product", [product?.title, price].filter(Boolean).join(", ")].join(": ");
  const texts = [title, product?.description, product?.url, body, footer];
  return { texts, ...(product?.productImage && { header: { imageMessage: product.productImage } }) };
}

function orderLine(order: proto.Message.IOrderMessage): string {
  const count = order.itemCount == null ? undefined : `${order.itemCount} items`;
  const price = priceOf(order.totalAmount1000, order.totalCurrencyCode);
  return `Order: ${[order.orderTitle, count, price].filter(Boolean).join(", ")}`;
}

/** WhatsApp's amounts are thousandths. */
export function priceOf(amount1000: unknown, currency: Text): string | undefined {
  const amount = Number(amount1000 ?? 0) / 1000;
  return amount > 0 ? [amount.toFixed(2), currency].filter(Boolean).join(" ") : undefined;
}

function choices(labels: readonly Text[]): string | undefined {
  const given = labels.filter(Boolean);
  return given.length === 0 ? undefined : `Choices: ${given.join(" / ")}`;
}
