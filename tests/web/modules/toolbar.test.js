import {documents, view} from '../../../src/show/page/state.js';
import {directionSwitch, headNavigator, headTools, isFine,
        layerPicker} from '../../../src/show/page/toolbar.js';
import {equal, test} from './harness.js';
import {openBlank, openSample, sampleData} from './sample.js';

// Opens the sample with views that have the tools of a single head.
function openTools(tab, data = sampleData()) {
  openBlank(tab, data, () => ({tools: [...headTools(), layerPicker()]}));
  return document.getElementById('tools');
}

const wide = () => {
  const data = sampleData();
  data.documents[0].layers[0].heads = [0, 1, 2, 3, 4, 5, 6];
  return data;
};

test('a head is named with its class and figures, and with a way back in the model view', () => {
  const tools = openTools('model');
  equal(tools.querySelector('h2').textContent, 'Layer 0 · Head 0');
  equal(tools.querySelectorAll('.figures div').length, 4);
  equal([...tools.querySelectorAll('#back, #gives, #receives')].length, 3);
  equal(openTools('neuron').querySelectorAll('#back, #gives, #receives').length, 0);
});

test('few heads have a map to jump to, many have pickers', () => {
  openSample();
  equal(isFine(documents[0]), false);
  const navigator = headNavigator();
  equal([...navigator.children].map((button) => button.title),
        ['Head 0.0', 'Head 0.1', 'Head 0.2', 'Head 1.0', 'Head 1.1', 'Head 1.2']);
  equal(navigator.querySelector('[aria-current=true]').title, 'Head 0.0');
  equal(navigator.lastChild.style.gridArea.startsWith('2 / 3'), true);
  const tools = openTools('neuron', wide());
  equal(isFine(documents[0]), true);
  equal(tools.querySelectorAll('.navigator').length, 0);
  equal(tools.querySelectorAll('.picker').length, 3);
});

test('the map jumps to a head', () => {
  openTools('neuron').querySelector('[title="Head 1.1"]').click();
  equal([view.head, location.hash], ['1.1', '#neuron/1.1']);
});

test('another layer keeps the head’s number if it has that number', () => {
  const choose = (tools, layer) => {
    const select = tools.querySelector('.picker:last-of-type select');
    select.value = layer;
    select.dispatchEvent(new Event('change'));
  };
  const tools = openTools('grid');
  view.head = '0.2';
  choose(tools, 1);
  equal(view.head, '1.2');
  openTools('grid', wide());
  view.head = '0.6';
  choose(tools, 1);
  equal(view.head, '1.0');
});

test('the direction can be reversed for the chosen token', () => {
  openTools('model');
  view.open = true;
  const box = directionSwitch();
  box.querySelector('#receives').click();
  equal([view.direction, view.kept, location.hash],
        ['receives', 'receives', '#model/0.0/4/receives']);
  box.querySelector('#gives').click();
  equal(view.direction, 'gives');
});
