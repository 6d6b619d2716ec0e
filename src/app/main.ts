/** The door of the built program: what `bin/openclaw.mjs` imports once a fitting Node runs. */
process.stdout.write("Usage: openclaw <command>\n");
