// Which of the three views is shown, by what stands behind the '#'.

function showWhose({cluster, version}) {
  document.getElementById('whose').textContent =
      cluster === null ? `version ${version}` :
                         `coordinator ${cluster.address}, version ${version}`;
}

function showView(id) {
  for (const view of ['jobs-view', 'job-view', 'compare-view']) {
    document.getElementById(view).hidden = view !== id;
  }
  document.getElementById('back').hidden = id === 'jobs-view';
}

class Page {
  constructor(session) {
    this.session = session;
    this.views = {};
    this.number = 0;  // Counts what was shown: what is not any more ends.
  }

  // A view is made when it is seen first, because a chart needs a size.
  view(kind, make) {
    this.views[kind] ??= make();
    return this.views[kind];
  }

  show() {
    const number = ++this.number;
    const going = () => this.number === number;
    const [, kind, rest = ''] = location.hash.split('/');
    document.getElementById('question').close();
    tellDone('');
    document.title = 'paceline';
    if (kind === 'job' || kind === 'run') {
      const name = decodeURIComponent(rest);
      showView('job-view');
      const view = this.view('job', () => new JobView(this.session));
      view.open(name);
      return poll(going, () => kind === 'job' ? view.lookAtJob(name, going) :
                                                view.lookAtRun(name, going));
    }
    if (kind === 'compare') {
      const subjects = rest.split(',').map(decodeURIComponent);
      showView('compare-view');
      const view = this.view('compare', () => new CompareView());
      return poll(going, () => view.look(subjects, going));
    }
    showView('jobs-view');
    const view = this.view('jobs', () => new JobsView(this.session));
    return poll(going, () => view.look(going));
  }
}

(async () => {
  try {
    const session = await call('Session');
    showWhose(session);
    const page = new Page(session);
    addEventListener('hashchange', () => page.show());
    await page.show();
  } catch (error) {
    tellProblem(error.message);
    throw error;
  }
})();
