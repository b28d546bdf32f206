import {distinctColour, inkOn, level, palette, readPalette,
        strength} from '../../../src/show/page/colours.js';
import {view} from '../../../src/show/page/state.js';
import {equal, near, test} from './harness.js';
import {openSample} from './sample.js';

test('a palette has its colours as text and as pixels', () => {
  const {css, pixels, white} = readPalette({colours: 'ff8000000102', white_text: '01'});
  equal(css, ['#ff8000', '#000102']);
  equal(new Uint8Array(pixels.buffer), [255, 128, 0, 255, 0, 1, 2, 255]);
  equal(white, '01');
});

test('the level of a weight is linear or follows its square root', () => {
  view.root = false;
  equal([0, 0.25, 1, 1.01].map(level), [0, 64, 255, 255]);
  near(strength(0.25), 0.25);
  view.root = true;
  equal([0, 0.25, 1, 1.01].map(level), [0, 128, 255, 255]);
  near(strength(0.25), 0.5);
});

test('text on a colour is white or dark as the palette defines', () => {
  openSample();
  equal([...palette().white].every((white, i) => (inkOn(i) === '#fff') === (white === '1')), true);
});

// Linear RGB as people without one kind of cone see it (Machado, Oliveira and Fernandes, 2009).
const kEyes = [
  [1, 0, 0, 0, 1, 0, 0, 0, 1],
  [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881],
  [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900],
];

const product = (matrix, [x, y, z]) => [0, 3, 6].map((i) => matrix[i] * x + matrix[i + 1] * y + matrix[i + 2] * z);

function oklabOf(css, eye) {
  const linear = css.match(/[0-9a-f]{2}/g).map((digits) => parseInt(digits, 16) / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const seen = product(eye, linear).map((c) => Math.min(1, Math.max(0, c)));
  const cones = product([0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566,
                         0.0883024619, 0.2817188376, 0.6299787005], seen).map(Math.cbrt);
  return product([0.2104542553, 0.7936177850, -0.0040720468, 1.9779984951, -2.4285922050, 0.4505937099,
                  0.0259040371, 0.7827717662, -0.8086757660], cones);
}

test('the colours of twelve heads differ for every kind of eye', () => {
  const colours = Array.from({length: 12}, (_, i) => distinctColour(i));
  for (const eye of kEyes) {
    const seen = colours.map((css) => oklabOf(css, eye));
    const apart = seen.flatMap((a, i) => seen.slice(i + 1).map((b) => Math.hypot(...a.map((x, k) => x - b[k]))));
    equal(Math.min(...apart) > 0.1, true);
  }
});
