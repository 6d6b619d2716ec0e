/** Emoji with Slack's names for them, the most common name first (the short names of the emoji-data set, which Slack uses). */
const NAMES = `
  👍 +1 thumbsup | 👎 -1 thumbsdown | 👀 eyes | ❤️ heart | ✅ white_check_mark | ❌ x | 🎉 tada | 😂 joy | 😄 smile |
  😃 smiley | 😀 grinning | 😁 grin | 😅 sweat_smile | 😆 laughing satisfied | 🤣 rolling_on_the_floor_laughing |
  🙂 slightly_smiling_face | 🙃 upside_down_face | 😉 wink | 😊 blush | 😇 innocent | 🥰 smiling_face_with_3_hearts |
  😍 heart_eyes | 🤩 star-struck grinning_face_with_star_eyes | 😘 kissing_heart | 😋 yum | 😛 stuck_out_tongue |
  😜 stuck_out_tongue_winking_eye | 🤪 zany_face grinning_face_with_one_large_and_one_small_eye | 🤗 hugging_face |
  🤔 thinking_face thinking | 🤨 face_with_raised_eyebrow | 😐 neutral_face | 😑 expressionless | 😶 no_mouth | 😏 smirk |
  😒 unamused | 🙄 face_with_rolling_eyes | 😬 grimacing | 😌 relieved | 😔 pensive | 😪 sleepy | 😴 sleeping | 😷 mask |
  🤒 face_with_thermometer | 🤕 face_with_head_bandage | 🤢 nauseated_face | 🤮 face_vomiting | 🥵 hot_face |
  🥶 cold_face | 😵 dizzy_face | 🤯 exploding_head shocked_face_with_exploding_head | 🥳 partying_face | 😎 sunglasses |
  🤓 nerd_face | 🧐 face_with_monocle | 😕 confused | 😟 worried | 🙁 slightly_frowning_face | 😮 open_mouth | 😯 hushed |
  😲 astonished | 😳 flushed | 🥺 pleading_face | 😦 frowning | 😨 fearful | 😰 cold_sweat | 😥 disappointed_relieved |
  😢 cry | 😭 sob | 😱 scream | 😖 confounded | 😣 persevere | 😞 disappointed | 😓 sweat | 😩 weary | 😫 tired_face |
  🥱 yawning_face | 😤 triumph | 😡 rage | 😠 angry | 🤬 face_with_symbols_on_mouth | 💀 skull | 💩 hankey poop shit |
  🤡 clown_face | 👻 ghost | 👽 alien | 🤖 robot_face | 😈 smiling_imp | 🙈 see_no_evil | 🙉 hear_no_evil |
  🙊 speak_no_evil | 💋 kiss | 💯 100 | 💢 anger | 💥 boom collision | 💫 dizzy | 💦 sweat_drops | 💤 zzz | 👋 wave |
  ✋ hand raised_hand | 👌 ok_hand | 🤏 pinching_hand | ✌️ v | 🤞 crossed_fingers | 🤘 the_horns | 🤙 call_me_hand |
  👈 point_left | 👉 point_right | 👆 point_up_2 | 👇 point_down | ☝️ point_up | ✊ fist | 👊 facepunch punch | 👏 clap |
  🙌 raised_hands | 👐 open_hands | 🤝 handshake | 🙏 pray | ✍️ writing_hand | 💪 muscle | 🧠 brain | 👂 ear | 🤷 shrug |
  🤦 face_palm | 🙋 raising_hand | 💁 information_desk_person | 🏃 runner running | 💃 dancer | 🧡 orange_heart |
  💛 yellow_heart | 💚 green_heart | 💙 blue_heart | 💜 purple_heart | 🖤 black_heart | 🤍 white_heart | 🤎 brown_heart |
  💔 broken_heart | 💕 two_hearts | 💘 cupid | 🔥 fire | ⭐ star | 🌟 star2 | ✨ sparkles | ⚡ zap | ☀️ sunny |
  🌙 crescent_moon | ☁️ cloud | 🌈 rainbow | ❄️ snowflake | 🌊 ocean | 💧 droplet | 🌹 rose | 🌸 cherry_blossom |
  🌱 seedling | 🌳 deciduous_tree | 🐶 dog | 🐱 cat | 🐭 mouse | 🦊 fox_face | 🐻 bear | 🐼 panda_face | 🐸 frog |
  🐵 monkey_face | 🦄 unicorn_face | 🐝 bee honeybee | 🐛 bug | 🦋 butterfly | 🐢 turtle | 🐍 snake | 🦞 lobster |
  🐙 octopus | 🐟 fish | 🐳 whale | 🍎 apple | 🍌 banana | 🍓 strawberry | 🍕 pizza | 🍔 hamburger | 🍟 fries | 🌭 hotdog |
  🍿 popcorn | 🍰 cake | 🎂 birthday | 🍪 cookie | ☕ coffee | 🍵 tea | 🍺 beer | 🍻 beers | 🍷 wine_glass |
  🥂 clinking_glasses | 🍾 champagne | 🏆 trophy | 🥇 first_place_medal | ⚽ soccer | 🎯 dart | 🎲 game_die |
  🎮 video_game | 🎸 guitar | 🎵 musical_note | 🎨 art | 🎬 clapper | 🎁 gift | 🎈 balloon | 🎊 confetti_ball | 🚀 rocket |
  ✈️ airplane | 🚗 car red_car | 🚲 bike | ⏰ alarm_clock | ⏳ hourglass_flowing_sand | ⌛ hourglass | ⏱️ stopwatch |
  📱 iphone | 💻 computer | ⌨️ keyboard | 🖨️ printer | 📷 camera | 📹 video_camera | 📺 tv | 🔋 battery |
  🔌 electric_plug | 💡 bulb | 🔦 flashlight | 💰 moneybag | 💸 money_with_wings | 💎 gem | 🔧 wrench | 🔨 hammer |
  ⚙️ gear | 🛠️ hammer_and_wrench | 🔗 link | 📎 paperclip | ✂️ scissors | 📌 pushpin | 📍 round_pushpin |
  📝 memo pencil | ✏️ pencil2 | 📖 book open_book | 📚 books | 📅 date | 📆 calendar | 📈 chart_with_upwards_trend |
  📉 chart_with_downwards_trend | 📊 bar_chart | 📋 clipboard | 📁 file_folder | 📦 package | 📧 e-mail |
  ✉️ email envelope | 📣 mega | 📢 loudspeaker | 🔔 bell | 🔕 no_bell | 🔒 lock | 🔓 unlock | 🔑 key | 🔍 mag |
  🔎 mag_right | 🗑️ wastebasket | ⚠️ warning | 🚨 rotating_light | 🚧 construction | 🛑 octagonal_sign | ⛔ no_entry |
  🚫 no_entry_sign | ❗ exclamation heavy_exclamation_mark | ❓ question | ‼️ bangbang | ✔️ heavy_check_mark |
  ☑️ ballot_box_with_check | ➕ heavy_plus_sign | ➖ heavy_minus_sign | ♻️ recycle | 🔄 arrows_counterclockwise |
  🔁 repeat | ⏩ fast_forward | ▶️ arrow_forward | ⏸️ double_vertical_bar | ⏹️ black_square_for_stop | ⬆️ arrow_up |
  ⬇️ arrow_down | ⬅️ arrow_left | ➡️ arrow_right | 🔴 red_circle | 🟠 large_orange_circle | 🟡 large_yellow_circle |
  🟢 large_green_circle | 🔵 large_blue_circle | 🟣 large_purple_circle | ⚫ black_circle | ⚪ white_circle | 🆗 ok |
  🆕 new | 🆒 cool | 🆘 sos | ℹ️ information_source | 1️⃣ one | 2️⃣ two | 3️⃣ three | 4️⃣ four | 5️⃣ five | 6️⃣ six |
  7️⃣ seven | 8️⃣ eight | 9️⃣ nine | 🔟 keycap_ten | 0️⃣ zero | 🏁 checkered_flag | 🚩 triangular_flag_on_post |
  🏳️ waving_white_flag | 🫡 saluting_face | 🫶 heart_hands | 🤌 pinched_fingers | 🥲 smiling_face_with_tear
`;

const ROWS = NAMES.split("|").map((row) => row.trim().split(" "));
const byEmoji = new Map(ROWS.map(([emoji = "", name = ""]) => [bare(emoji), name]));
const byName = new Map(ROWS.flatMap(([emoji = "", ...names]) => names.map((name) => [name, emoji] as const)));

/** The emoji without its variation selector, which people and programs leave out at will. */
function bare(emoji: string): string {
  return emoji.replaceAll("\u{fe0f}", "");
}

const SKIN = /[\u{1f3fb}-\u{1f3ff}]/gu;

/** Slack's name for an emoji; also of `:name:`. Undefined for an emoji that is not listed. */
export function emojiName(emoji: string): string | undefined {
  const named = /^:?([a-z0-9_+'-]+):?$/.exec(emoji)?.[1];
  return named ?? byEmoji.get(bare(emoji).replaceAll(SKIN, ""));
}

/** The emoji that a reaction shows; `:name:` for emoji of a workspace and for others that are not listed. */
export function emojiOf(name: string): string {
  const [plain = name] = name.split("::");
  return byName.get(plain) ?? `:${plain}:`;
}
