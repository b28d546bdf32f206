#include "views/page/attention_page.h"

namespace headlight {
namespace {

constexpr std::string_view kScript = R"js(
// The heads of a layer as labelled panels.
function panelsPane(doc) {
  const drawn = [];
  const panels = layerHeads(doc).map((head) => {
    const canvas = element('canvas', {role: 'img'});
    canvas.setAttribute('aria-label', `Heat map of head ${head.name}`);
    const button = element('button', {type: 'button', title: `Open head ${head.name}`},
      element('b', {textContent: `Head ${head.head}`}));
    button.append(...[classTag(head)].filter(Boolean));
    button.addEventListener('click', () => openHead(head));
    const panel = element('figure', {}, element('figcaption', {}, button), canvas);
    canvas.addEventListener('pointermove', (event) => {
      const cell = canvas.plot && cellAt(event, canvas.plot);
      if (cell) {
        showCellTip(event, head, cell);
      } else {
        hideTip();
      }
    });
    canvas.addEventListener('pointerleave', hideTip);
    drawn.push(() => { canvas.plot = drawPlot(canvas, head, panel.clientWidth, 360); });
    return panel;
  });
  return {doc, head: layerHeads(doc)[0] ?? null,
          node: element('div', {className: 'panels'}, ...panels),
          draw: () => drawn.forEach((draw) => draw()), showToken() {}};
}

function buildGridView() {
  return {panes: shownDocuments().map(panelsPane), tools: [layerPicker()],
          hint: 'Rows are queries, columns are keys.'};
}

function option(value, textContent, selected) {
  return element('option', {value, textContent, selected});
}

function picker(label, options, choose) {
  const select = element('select', {}, ...options);
  select.addEventListener('change', () => choose(Number(select.value)));
  return element('label', {className: 'picker'}, `${label} `, select);
}

function layerPicker() {
  const doc = documents[view.doc];
  const choose = (layer) => {
    const same = doc.byName.get(`${layer}.${current().head}`);
    view.head = (same ?? doc.heads.find((head) => head.layer === layer)).name;
    render();
    writeAddress(true);
    byId('tools').querySelector('select').focus();
  };
  return picker('Layer', doc.layers.map(({layer}) =>
    option(layer, layer, layer === current().layer)), choose);
}

function directionSwitch() {
  const buttons = [['gives', 'Weight it gives'], ['receives', 'Weight it receives']]
    .map(([direction, textContent]) => {
      const button = element('button', {type: 'button', id: direction, textContent});
      button.addEventListener('click', () => {
        view.kept = direction;
        setDirection(direction);
        showToken();
        announce();
        writeAddress(true);
      });
      return button;
    });
  const box = element('div', {className: 'segmented'}, ...buttons);
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', 'Links of the chosen token');
  return box;
}

function setDirection(direction) {
  view.direction = direction;
  for (const name of ['gives', 'receives']) {
    byId(name)?.setAttribute('aria-pressed', name === direction);
  }
}

function setRoot(root) {
  view.root = root;
  byId('root').setAttribute('aria-pressed', root);
  byId('linear').setAttribute('aria-pressed', !root);
}

const isFine = (doc) => Math.max(doc.columns.length, doc.layers.length) > 6;

function headPicker() {
  const layer = documents[view.doc].heads.filter((head) => head.layer === current().layer);
  const choose = (number) => {
    goToHead(layer.find((head) => head.head === number));
    byId('tools').querySelector('.picker:nth-of-type(2) select')?.focus();
  };
  return picker('Head', layer.map(({head}) => option(head, head, head === current().head)), choose);
}

// A small map of all heads to jump to.
function headNavigator() {
  const doc = documents[view.doc];
  const box = element('div', {className: 'navigator'});
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', 'Go to a head');
  box.classList.toggle('fine', isFine(doc));
  box.style.gridTemplateColumns = `repeat(${doc.columns.length}, max-content)`;
  box.append(...doc.heads.map((head) => {
    const button = element('button', {type: 'button', tabIndex: -1, title: `Head ${head.name}`});
    button.setAttribute('aria-label', headTitle(head));
    button.setAttribute('aria-current', head === current());
    button.style.gridArea = `${head.row + 1} / ${head.column + 1}`;
    button.addEventListener('click', () => goToHead(head));
    return button;
  }));
  return box;
}

// What stands above a single head: its name, its class, figures, and ways to another one.
function headTools() {
  const head = current();
  const name = element('h2', {id: 'name', tabIndex: -1, textContent: headTitle(head)});
  const model = view.tab === 'model';
  const back = element('button', {type: 'button', id: 'back', className: 'quiet'},
                       element('span', {ariaHidden: 'true', textContent: '←'}), ' All heads');
  back.addEventListener('click', closeHead);
  return [...(model ? [back] : []), name, ...[classTag(head)].filter(Boolean), figuresOf(head),
          ...(model ? [directionSwitch()] : []),
          ...(isFine(head.doc) ? [layerPicker(), headPicker()] : [headNavigator()])];
}

function column(pane) {
  if (panes.length === 1) {
    return pane.node;
  }
  const title = element('h2', {className: 'document', translate: false},
                        element('bdi', {textContent: documentName(pane.doc)}));
  const tag = view.tab === 'model' && !view.open || !pane.head || pane.doc.index === view.doc ||
    view.tab === 'head' || view.tab === 'grid' ? null : classTag(pane.head);
  return element('section', {}, title, ...[tag].filter(Boolean), pane.node);
}

// Builds what the chosen tab shows.
function render() {
  hideTip();
  drawLegend();
  thumbnails.clear();
  waiting.clear();
  sight.disconnect();
  view.hovered = null;
  const build = {model: buildModelView, head: buildHeadView, neuron: buildNeuronView,
                 grid: buildGridView}[view.tab];
  const built = build();
  panes = built.panes;
  document.body.dataset.view = view.tab;
  byId('tools').hidden = !built.tools;
  byId('tools').replaceChildren(...built.tools ?? []);
  stage.className = `view-${view.tab}${panes.length > 1 ? ' pair' : ''}`;
  stage.replaceChildren(...panes.map(column));
  stage.setAttribute('aria-labelledby', `tab-${view.tab}`);
  byId('hint').textContent = built.hint ?? '';
  setDirection(view.direction);
  panes.forEach((pane) => pane.draw?.());
  showToken();
  makeCurrent();
  showChoices();
}
)js";

}  // namespace

std::string_view attention_page_grid_script() { return kScript; }

}  // namespace headlight
