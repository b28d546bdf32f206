#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kStyle =
    R"css(.thumbnails { display: grid; gap: 10px; justify-content: safe center; }
.thumbnails > span { font-size: 12px; color: var(--muted); align-self: center; text-align: center; }
.thumbnails > .layer { position: sticky; left: 0; z-index: 1; align-self: stretch; display: flex;
  align-items: center; justify-content: end; padding-right: 8px; white-space: nowrap;
  background: var(--ground); box-shadow: -4px 0 0 4px var(--ground); }
.thumbnails button { display: flex; flex-direction: column; gap: 4px; border-radius: 6px; min-width: 0;
  position: relative;
  background: var(--surface); box-shadow: 0 0 0 1px var(--line); padding: 5%; overflow: hidden;
  transition: box-shadow 0.12s; }
.thumbnails button:hover { box-shadow: 0 0 0 1px var(--accent), 0 4px 14px var(--shade); }
.thumbnails button:focus-visible { outline-offset: 1px; }
.thumbnails canvas { display: block; width: 100%; aspect-ratio: 1; }
#hint { padding-top: 16px; }
.view-model:not(:has(.split)) ~ #hint { text-align: center; }
[data-view=head] .legend { visibility: hidden; }

.bar { display: flex; flex-wrap: wrap; gap: 12px 26px; align-items: center; padding: 0 0 16px; }
.quiet { border: 1px solid var(--line); background: var(--surface); }
.figures { display: flex; flex-wrap: wrap; gap: 2px 22px; font-size: 13px; flex: 1 1 auto; }
.figures div { display: flex; gap: 7px; }
.figures dt { color: var(--muted); }
.figures dd, .number { font-variant-numeric: tabular-nums; font-weight: 600; }
.navigator { display: grid; gap: 3px; }
.navigator.corner { position: absolute; top: 8px; z-index: 1; }
.navigator button { width: 14px; height: 14px; border-radius: 3px; background: var(--line); }
.navigator button:hover { background: var(--muted); }
.navigator [aria-current=true] { background: var(--accent); }
.split { display: grid; grid-template-columns: minmax(0, 1.25fr) minmax(0, 1fr); gap: 36px;
  align-items: start; }
.map { position: relative; min-height: 200px; touch-action: pan-y; }
.map canvas { display: block; }
.marks { position: absolute; left: 0; top: 0; cursor: crosshair; }
.reading { display: grid; grid-template-columns: minmax(0, 1fr); gap: 14px; justify-items: start; }
.text { width: 100%; max-height: min(56vh, 560px); overflow-y: auto; padding: 14px 16px;
  background: var(--surface); border-radius: 8px; box-shadow: 0 0 0 1px var(--line);
  font-size: 17px; line-height: 1.95; white-space: pre-wrap; overflow-wrap: anywhere; }
.text span { border-radius: 3px; padding: 3px 0; cursor: pointer; unicode-bidi: isolate;
  box-decoration-break: clone; -webkit-box-decoration-break: clone; }
.text .unseen-key { color: var(--muted); opacity: 0.7; }
.text .chosen { box-shadow: 0 0 0 2px var(--accent); }
.text i { font-style: normal; opacity: 0.6; }
.links { list-style: none; padding: 0; width: 100%; min-height: 150px; display: grid; gap: 5px;
  align-content: start; font-size: 14px; }
.links li { display: grid; grid-template-columns: 7.5em 3.2em 1fr; gap: 12px; align-items: center; }
#chosen { max-width: 100%; }
.label { display: inline-block; max-width: 16em; vertical-align: bottom; white-space: pre;
  overflow: hidden; text-overflow: ellipsis; }
.links > li > span { display: flex; align-items: baseline; min-width: 0; }
.links .track { display: block; }
.links .track { height: 10px; }
.links .track i { display: block; height: 100%; min-width: 2px; border-radius: 2px; }
.place { color: var(--muted); font-weight: 400; font-size: 0.86em; margin-left: 0.2em; }
.links .place { margin-left: 0.45em; }
.split.narrow { grid-template-columns: minmax(0, 1fr); gap: 20px; }
#stage.pair { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 36px; }
#stage > section { min-width: 0; }
h2.document { font-size: 15px; padding-bottom: 10px; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; }
.text.short { max-height: 148px; margin-bottom: 18px; }
.dot { display: inline-block; width: 8px; height: 8px; border-radius: 50%; flex: none; }
.tag { display: inline-flex; align-items: center; gap: 5px; min-width: 0; max-width: 100%;
  font-size: 12px; line-height: 16px; color: var(--muted); white-space: nowrap; }
.tag .class { overflow: hidden; text-overflow: ellipsis; }
.tag b { color: var(--ink); font-weight: 600; font-variant-numeric: tabular-nums; }
.thumbnails .tag { font-size: 10.5px; gap: 4px; }
.thumbnails .tag b { position: absolute; top: 5px; right: 7px; }

.chips { display: flex; flex-wrap: wrap; gap: 6px; }
.chip { display: inline-flex; align-items: center; gap: 7px; font-size: 13px; line-height: 20px;
  padding: 4px 10px; border: 1px solid var(--line); border-radius: 16px;
  background: var(--surface); }
.chip .class { color: var(--muted); font-size: 12px; }
.chip[aria-pressed=false] { opacity: 0.5; text-decoration: line-through; }
.lines { display: grid; grid-template-columns: minmax(40px, max-content) minmax(90px, 440px)
  minmax(40px, max-content); justify-content: center; max-height: max(320px, calc(100vh - 330px));
  overflow-y: auto; background: var(--surface); border-radius: 8px; padding: 0 14px;
  box-shadow: 0 0 0 1px var(--line); }
.between { min-width: 0; }
.between canvas { display: block; width: 100%; }
.tokens div { height: 24px; padding: 0 8px; font-size: 14px; line-height: 24px; cursor: pointer;
  max-width: 13em; overflow: hidden; text-overflow: ellipsis; white-space: pre;
  border-radius: 4px; }
.tokens.left { text-align: right; }
.tokens .chosen { background: var(--ink); color: var(--ground); }
.tokens:focus-visible { outline-offset: -2px; }

.neurons th, .neurons td { padding-right: 16px; vertical-align: middle; }
.neurons th[scope=row] .label { max-width: 9em; }
.neurons td:nth-child(2), .neurons td:nth-child(3) { min-width: 150px; width: 34%; }
.neurons { width: 100%; }
.strip { display: block; width: 100%; height: 16px; image-rendering: pixelated; border-radius: 2px;
  background: var(--surface); box-shadow: 0 0 0 1px var(--line); cursor: crosshair; }
.pair .neurons td:nth-child(2), .pair .neurons td:nth-child(3) { min-width: 96px; }
.pair .bar-cell { min-width: 40px; }
.pair .neurons th, .pair .neurons td { padding-right: 11px; }
.query-line { display: grid; grid-template-columns: max-content max-content max-content
  minmax(150px, 480px); gap: 6px; align-items: center; padding-bottom: 6px; font-size: 14px; }
.query-line .strip { margin-left: 14px; }
.bar-cell { min-width: 70px; width: 14%; }
.bar-cell i { display: block; height: 10px; min-width: 1px; border-radius: 2px; }

.panels { display: grid; gap: 26px 22px;
  grid-template-columns: repeat(auto-fill, minmax(max(250px, calc(25% - 22px)), 1fr)); }
.pair .panels { grid-template-columns: repeat(auto-fill, minmax(230px, 1fr)); }
.panels figure { margin: 0; min-width: 0; }
.panels canvas { display: block; max-width: 100%; }
figcaption button { display: flex; align-items: baseline; gap: 12px; max-width: 100%;
  padding: 2px 0 6px; }
figcaption b { font-weight: 600; font-size: 14px; white-space: nowrap; }
figcaption button:hover b { color: var(--accent); }

@media (max-width: 860px) {
  body { padding-top: 18px; }
  .split { grid-template-columns: minmax(0, 1fr); gap: 24px; }
  .keys { display: none; }
  .thumbnails { gap: 5px; }
  .thumbnails > span { font-size: 11px; }
  .thumbnails > .layer { padding-right: 2px; }
  .navigator:not(.fine) button { width: 22px; height: 22px; }
  #stage.pair { grid-template-columns: minmax(0, 1fr); }
  .tabs { gap: 0 16px; }
  .tabs button { font-size: 14px; }
  [data-view=head] .legend { display: none; }
  .query-line { grid-template-columns: max-content max-content max-content minmax(60px, 1fr); }
  .text { max-height: none; }
}
@media print { .controls .segmented, .switch, #back, .navigator, .tabs, .picker, .chips, footer, .hint { display: none; } }
)css";

}  // namespace

std::string_view attention_page_view_style() { return kStyle; }

}  // namespace headlight
