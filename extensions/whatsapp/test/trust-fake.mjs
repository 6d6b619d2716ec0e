// Lets Baileys in this process take the fake server for WhatsApp: `node --import <this file>`, or import it in a test.
import { WA_CERT_DETAILS } from "@whiskeysockets/baileys";

export const ROOT_PUBLIC = "tztx7d31mOFoaz5gWQSfldxwHBeLJ66lLb8hmfQ42kE=";
WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(ROOT_PUBLIC, "base64");
