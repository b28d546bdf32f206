#include "heads/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kStyle = R"css(:root {
  --ground: #fafaf8; --surface: #fff; --raised: #fff; --ink: #1b1e2b; --muted: #656979;
  --line: #e3e3e6; --accent: #c8470f; --shade: rgb(27 30 43 / 0.10);
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Noto Sans KR",
    "Apple SD Gothic Neo", "Malgun Gothic", sans-serif;
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
#grid { display: grid; gap: 10px; justify-content: safe center; }
#grid > span { font-size: 12px; color: var(--muted); align-self: center; text-align: center; }
#grid > .layer { position: sticky; left: 0; z-index: 1; align-self: stretch; display: flex;
  align-items: center; justify-content: end; padding-right: 8px; white-space: nowrap;
  background: var(--ground); box-shadow: -4px 0 0 4px var(--ground); }
#grid button { display: block; aspect-ratio: 1; border-radius: 6px; background: var(--surface);
  box-shadow: 0 0 0 1px var(--line); padding: 5%; min-width: 0; overflow: hidden;
  transition: box-shadow 0.12s; }
#grid button:hover { box-shadow: 0 0 0 1px var(--accent), 0 4px 14px var(--shade); }
#grid button:focus-visible { outline-offset: 1px; }
#grid canvas { display: block; width: 100%; height: 100%; }
#overview .hint { text-align: center; padding-top: 16px; }

.bar { display: flex; flex-wrap: wrap; gap: 12px 26px; align-items: center; padding: 12px 0 16px;
  border-top: 1px solid var(--line); }
.quiet { border: 1px solid var(--line); background: var(--surface); }
#figures { display: flex; flex-wrap: wrap; gap: 2px 22px; font-size: 13px; flex: 1 1 auto; }
#figures div { display: flex; gap: 7px; }
#figures dt { color: var(--muted); }
#figures dd, .number { font-variant-numeric: tabular-nums; font-weight: 600; }
#navigator { display: grid; gap: 3px; }
#navigator.corner { position: absolute; top: 8px; z-index: 1; }
#navigator button { width: 14px; height: 14px; border-radius: 3px; background: var(--line); }
#navigator button:hover { background: var(--muted); }
#navigator [aria-current=true] { background: var(--accent); }
.split { display: grid; grid-template-columns: minmax(0, 1.25fr) minmax(0, 1fr); gap: 36px;
  align-items: start; }
#map { position: relative; min-height: 200px; touch-action: pan-y; }
#map canvas { display: block; }
#marks { position: absolute; left: 0; top: 0; cursor: crosshair; }
.reading { display: grid; grid-template-columns: minmax(0, 1fr); gap: 14px; justify-items: start; }
#text { width: 100%; max-height: min(56vh, 560px); overflow-y: auto; padding: 14px 16px;
  background: var(--surface); border-radius: 8px; box-shadow: 0 0 0 1px var(--line);
  font-size: 17px; line-height: 1.95; white-space: pre-wrap; overflow-wrap: anywhere; }
#text span { border-radius: 3px; padding: 3px 0; cursor: pointer; unicode-bidi: isolate;
  box-decoration-break: clone; -webkit-box-decoration-break: clone; }
#text .unseen-key { color: var(--muted); opacity: 0.7; }
#text .chosen { box-shadow: 0 0 0 2px var(--accent); }
#text i { font-style: normal; opacity: 0.6; }
#links { list-style: none; padding: 0; width: 100%; min-height: 150px; display: grid; gap: 5px;
  align-content: start; font-size: 14px; }
#links li { display: grid; grid-template-columns: 7.5em 3.2em 1fr; gap: 12px; align-items: center; }
#chosen { max-width: 100%; }
.label { display: inline-block; max-width: 16em; vertical-align: bottom; white-space: pre;
  overflow: hidden; text-overflow: ellipsis; }
#links > li > span { display: flex; align-items: baseline; min-width: 0; }
#links .track { display: block; }
#links .track { height: 10px; }
#links .track i { display: block; height: 100%; min-width: 2px; border-radius: 2px; }
.place { color: var(--muted); font-weight: 400; font-size: 0.86em; margin-left: 0.2em; }
#links .place { margin-left: 0.45em; }
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

@media (max-width: 860px) {
  body { padding-top: 18px; }
  .split { grid-template-columns: minmax(0, 1fr); gap: 24px; }
  .keys { display: none; }
  #grid { gap: 5px; }
  #grid > span { font-size: 11px; }
  #grid > .layer { padding-right: 2px; }
  #navigator:not(.fine) button { width: 22px; height: 22px; }
  #text { max-height: none; }
}
@media print { .controls .segmented, .switch, #back, #navigator, footer, .hint { display: none; } }
)css";

}  // namespace

std::string_view attention_page_style() { return kStyle; }

}  // namespace headlight
