// What is shown.

function showWhose({cluster, version}) {
  document.getElementById('whose').textContent =
      cluster === null ? `version ${version}` :
                         `coordinator ${cluster.address}, version ${version}`;
}

(async () => {
  try {
    const session = await call('Session');
    showWhose(session);
    document.getElementById('jobs-view').hidden = false;
    const view = new JobsView(session);
    await poll(() => true, () => view.look(() => true));
  } catch (error) {
    tellProblem(error.message);
    throw error;
  }
})();
