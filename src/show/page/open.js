// Opens the page with its data and registers its event listeners.
import {darkGround, setPalettes} from './colours.js';
import {byId, option} from './dom.js';
import {onKey} from './keyboard.js';
import {documentName} from './labels.js';
import {setRoot} from './legend.js';
import {openTab, readAddress, render, setViews, writeAddress} from './page.js';
import {current, documents, kTabs, longest, openDocuments, renewDocuments, view} from './state.js';
import {hideTip} from './tip.js';
import {buildGridView} from './views/grid.js';
import {buildHeadView} from './views/head.js';
import {buildModelView} from './views/model.js';
import {buildNeuronView} from './views/neuron.js';
import {drawAllThumbnails} from './views/thumbnails.js';
import {setHideFirst} from './weights.js';
import {say} from './words.js';

function fillPickers() {
  byId('pickers').hidden = documents.length === 1;
  byId('document').replaceChildren();
  byId('beside').replaceChildren(byId('beside').firstElementChild);
  documents.forEach((doc, i) => {
    const name = `${i + 1}. ${documentName(doc)}`;
    byId('document').append(option(i, name, i === view.doc));
    byId('beside').append(option(i, name, i === view.beside));
  });
}

function listenToPickers() {
  for (const [id, key] of [['document', 'doc'], ['beside', 'beside']]) {
    byId(id).addEventListener('change', () => {
      view[key] = Number(byId(id).value);
      view.head = current().name;
      render();
      writeAddress(false);
    });
  }
}

function listen() {
  kTabs.forEach((tab) => byId(`tab-${tab}`).addEventListener('click', () => openTab(tab)));
  byId('linear').addEventListener('click', () => { setRoot(false); render(); });
  byId('root').addEventListener('click', () => { setRoot(true); render(); });
  byId('hide-first').addEventListener('click', () => {
    setHideFirst(!view.hideFirst);
    byId('hide-first').ariaPressed = view.hideFirst;
    byId('note').hidden = !view.hideFirst;
    render();
  });
  addEventListener('keydown', onKey);
  addEventListener('hashchange', readAddress);
  addEventListener('scroll', hideTip, {passive: true});
  // A browser prints right after this change: from dark to light.
  darkGround.addEventListener('change', () => {
    render();
    if (matchMedia('print').matches) {
      drawAllThumbnails();
    }
  });
  addEventListener('beforeprint', drawAllThumbnails);
  let width = innerWidth;
  addEventListener('resize', () => {
    // Phones change the height whenever their address bar hides.
    if (innerWidth !== width) {
      width = innerWidth;
      render();
    }
  });
}

export function openPage(data) {
  openDocuments(data);
  setPalettes(data);
  setViews({model: buildModelView, head: buildHeadView, neuron: buildNeuronView,
            grid: buildGridView});
  byId('hide-first').disabled = longest === 1;
  if (data.value_weighted) {
    document.querySelector('.legend').ariaLabel = say('legend_value_weighted');
  }
  byId('precision').textContent = say(data.bits === 16 ? 'precision16' : 'precision8');
  fillPickers();
  setRoot(view.root);
  listenToPickers();
  listen();
  readAddress();
  document.documentElement.dataset.ready = Math.round(performance.now());
}

// Calls replace(), then focuses the element at the position of the one that had the focus.
function keepFocus(replace) {
  const reached = () => [...document.querySelectorAll(
    ':is(#tools, #stage) :is(button, select, summary, [tabindex])')];
  const place = reached().indexOf(document.activeElement);
  replace();
  reached()[place]?.focus({preventScroll: true});
}

// Shows other documents, and keeps the reader's choices where they still apply.
export function renewPage(data) {
  renewDocuments(data);
  setPalettes(data);
  fillPickers();
  byId('hide-first').disabled = longest === 1;
  keepFocus(render);
}
