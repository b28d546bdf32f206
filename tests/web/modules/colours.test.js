import {distinctColour, inkOn, level, palette, readPalette,
        strength} from '../../../src/views/page/colours.js';
import {view} from '../../../src/views/page/state.js';
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

test('neighbouring heads differ in hue', () => {
  const hue = (i) => Number(/([\d.]+)\)$/.exec(distinctColour(i))[1]);
  near([hue(0), hue(1), hue(2)], [264, 41.5, 179]);
});
