import {render, setViews} from '../../../../src/show/page/page.js';
import {view} from '../../../../src/show/page/state.js';
import {buildGridView} from '../../../../src/show/page/views/grid.js';
import {equal, test} from '../harness.js';
import {openSample, sampleData} from '../sample.js';

test('the grid has a drawn panel for each head of the layer', () => {
  openSample({...sampleData(), beside: -1});
  Object.assign(view, {tab: 'grid', head: '1.0'});
  setViews({grid: buildGridView});
  render();
  const panels = [...document.querySelectorAll('.panels figure')];
  equal(panels.map((panel) => panel.querySelector('button').title),
        ['Open head 1.0', 'Open head 1.1', 'Open head 1.2']);
  equal(panels[2].querySelector('.tag .class').textContent, 'other');
  for (const panel of panels) {
    const canvas = panel.querySelector('canvas');
    equal(canvas.plot.doc.count, 5);
    const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    equal(data.some((value) => value > 0), true);
  }
});
