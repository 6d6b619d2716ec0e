import type { ButtonLimits } from "openclaw/plugin-sdk";

/** docs.discord.com/developers/components/reference#button and #action-row */
const LABEL_UNITS = 80;
const CUSTOM_ID_UNITS = 100;
export const BUTTONS_PER_ROW = 5;
export const ROWS = 5;

export const BUTTON_LIMITS: ButtonLimits = {
  count: ROWS * BUTTONS_PER_ROW,
  label: LABEL_UNITS,
  command: CUSTOM_ID_UNITS,
};
