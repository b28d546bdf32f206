// Grid view: the heads of a layer as labelled panels.
import {showCellTip} from '../cell_tip.js';
import {element} from '../dom.js';
import {drawPlot} from '../heat_map.js';
import {cellAt} from '../heat_map_layout.js';
import {classTag} from '../labels.js';
import {openHead} from '../page.js';
import {layerHeads, shownDocuments} from '../state.js';
import {hideTip} from '../tip.js';
import {layerPicker} from '../toolbar.js';
import {say} from '../words.js';

function panelsPane(doc) {
  const drawn = [];
  const panels = layerHeads(doc).map((head) => {
    const onpointermove = (event) =>
      showCellTip(event, head, canvas.plot ? cellAt(event, canvas.plot) : null);
    const canvas = element('canvas', {role: 'img', ariaLabel: say('heat_map_only', {name: head.name}),
                                      onpointermove, onpointerleave: hideTip});
    const button = element('button', {type: 'button', title: say('open_head', {name: head.name}),
                                      onclick: () => openHead(head)},
      element('b', {textContent: say('head_name', {name: head.head})}),
      ...[classTag(head)].filter(Boolean));
    const panel = element('figure', {}, element('figcaption', {}, button), canvas);
    drawn.push(() => { canvas.plot = drawPlot(canvas, head, panel.clientWidth, 360); });
    return panel;
  });
  return {doc, head: layerHeads(doc)[0] ?? null,
          node: element('div', {className: 'panels'}, ...panels),
          draw: () => drawn.forEach((draw) => draw()), showToken() {}};
}

export function buildGridView() {
  return {panes: shownDocuments().map(panelsPane), tools: [layerPicker()],
          hint: say('grid_hint')};
}
