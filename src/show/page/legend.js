// Legend of the weights' colour scale, and its linear and square-root modes.
import {palette, strength} from './colours.js';
import {byId, element} from './dom.js';
import {view} from './state.js';

export function drawLegend() {
  const canvas = byId('legend');
  const context = canvas.getContext('2d');
  const image = context.createImageData(256, 1);
  new Uint32Array(image.data.buffer).set(palette().pixels);
  context.putImageData(image, 0, 0);
  const ticks = view.root ? [0, 0.05, 0.25, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1];
  byId('ticks').replaceChildren(...ticks.map((weight) =>
    element('span', {textContent: weight, style: `left: ${100 * strength(weight)}%`})));
}

export function setRoot(root) {
  view.root = root;
  byId('root').ariaPressed = root;
  byId('linear').ariaPressed = !root;
}
