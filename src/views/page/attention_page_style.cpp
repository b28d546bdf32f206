#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kStyle = R"css(:root {
  --ground: #fafaf8; --surface: #fff; --raised: #fff; --ink: #1b1e2b; --muted: #656979;
  --line: #e3e3e6; --accent: #c8470f; --shade: rgb(27 30 43 / 0.10);
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans KR",
    "Apple SD Gothic Neo", "Malgun Gothic", sans-serif, "Apple Color Emoji",
    "Segoe UI Emoji", "Noto Color Emoji";
  color-scheme: light dark;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ground: #0e1014; --surface: #14171c; --raised: #20242c; --ink: #eceae5; --muted: #9a9eaa;
    --line: #2a2e36; --accent: #ffae52; --shade: rgb(0 0 0 / 0.5);
  }
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body {
  margin: 0 auto; padding: 28px clamp(16px, 3vw, 40px) 24px; max-width: 1440px; min-height: 100vh;
  display: flex; flex-direction: column; background: var(--ground); color: var(--ink);
  font: 15px/1.5 var(--sans); -webkit-text-size-adjust: 100%;
}
h1, h2, h3, p, ol, dl, dd { margin: 0; }
h1 { font-size: 22px; line-height: 1.25; font-weight: 650; letter-spacing: -0.015em;
  overflow-wrap: anywhere; }
h2 { font-size: 19px; font-weight: 650; letter-spacing: -0.01em; }
h3 { font-size: 14px; font-weight: 600; }
.heading p, .hint, footer { color: var(--muted); font-size: 13.5px; }
button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
h2:focus-visible { outline: none; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }

.top { display: flex; flex-wrap: wrap; gap: 14px 32px; align-items: center; padding-bottom: 18px; }
.heading { flex: 1 1 280px; }
.controls { display: flex; flex-wrap: wrap; gap: 12px 18px; align-items: center; }
#note { flex-basis: 100%; font-size: 13.5px; color: var(--muted); padding-left: 12px;
  border-left: 3px solid var(--accent); }
#note b { color: var(--ink); font-weight: 600; }
.choices { display: flex; flex-wrap: wrap; gap: 10px 26px; align-items: end; margin-bottom: 16px;
  border-bottom: 1px solid var(--line); }
.tabs { display: flex; flex-wrap: wrap; gap: 2px 22px; }
.tabs button { padding: 7px 1px 9px; color: var(--muted); border-bottom: 2px solid transparent;
  margin-bottom: -1px; white-space: nowrap; }
.tabs button:hover { color: var(--ink); }
.tabs [aria-selected=true] { color: var(--ink); font-weight: 600; border-color: var(--accent); }
#pickers { display: flex; flex-wrap: wrap; gap: 6px 18px; margin-left: auto;
  padding-bottom: 7px; min-width: 0; }
.picker { font-size: 13px; color: var(--muted); display: inline-flex; align-items: center; gap: 7px;
  min-width: 0; }
select { font: inherit; color: var(--ink); background: var(--surface); padding: 4px 6px;
  border: 1px solid var(--line); border-radius: 7px; max-width: min(240px, 60vw); }
.legend { width: 190px; padding-top: 4px; }
.legend canvas { display: block; width: 100%; height: 9px; border-radius: 2px; }
#ticks { position: relative; height: 16px; font-size: 11px; color: var(--muted);
  font-variant-numeric: tabular-nums; }
#ticks span { position: absolute; transform: translateX(-50%); }
#ticks span:first-child { transform: none; }
#ticks span:last-child { transform: translateX(-100%); }
.segmented { display: inline-flex; border: 1px solid var(--line); border-radius: 8px;
  background: var(--surface); padding: 2px; }
.segmented button, .switch, .quiet { font-size: 13px; line-height: 20px; padding: 5px 11px;
  border-radius: 6px; color: var(--muted); white-space: nowrap; }
.segmented button:hover, .switch:hover, .quiet:hover { color: var(--ink); }
.segmented [aria-pressed=true] { background: var(--ink); color: var(--ground); }
.segmented [aria-pressed=true]:hover { color: var(--ground); }
.switch { display: inline-flex; align-items: center; gap: 8px; padding: 5px 2px; }
.switch::before { content: ""; width: 28px; height: 16px; border-radius: 8px;
  background: radial-gradient(circle at 8px, var(--surface) 5.5px, transparent 6px) var(--muted); }
.switch[aria-pressed=true] { color: var(--ink); }
.switch[aria-pressed=true]::before {
  background: radial-gradient(circle at 20px, var(--surface) 5.5px, transparent 6px) var(--accent); }
.switch:disabled { opacity: 0.4; cursor: default; }

main { flex: 1; }
.scroller { overflow-x: auto; padding: 4px; margin: 0 -4px; }
details { margin-top: 26px; border-top: 1px solid var(--line); padding-top: 12px; }
summary { cursor: pointer; font-size: 13.5px; color: var(--muted); width: max-content; }
summary:hover { color: var(--ink); }
table { border-collapse: collapse; font-size: 13px; margin-top: 8px; }
caption { text-align: left; color: var(--muted); padding: 4px 0 8px; }
th, td { text-align: left; padding: 4px 22px 4px 0; white-space: nowrap;
  border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { color: var(--muted); }
tbody th { font-weight: 600; }
#tip { position: fixed; z-index: 3; left: 0; top: 0; max-width: min(360px, 90vw); padding: 7px 11px;
  pointer-events: none; background: var(--raised); border-radius: 7px; font-size: 14px;
  box-shadow: 0 0 0 1px var(--line), 0 6px 22px var(--shade); overflow-wrap: anywhere; }
#tip small { display: block; color: var(--muted); font-size: 12px; }
footer { display: flex; flex-wrap: wrap; justify-content: space-between; gap: 4px 32px;
  padding-top: 30px; font-size: 12.5px; }
kbd { font: inherit; font-size: 11.5px; padding: 0 5px; border: 1px solid var(--line);
  border-radius: 4px; background: var(--surface); }

)css";

}  // namespace

std::string_view attention_page_style() { return kStyle; }

}  // namespace headlight
