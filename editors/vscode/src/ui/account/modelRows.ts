import { l10n, type QuickPickItem } from 'vscode';

import type { ModelInfo, Requests, WireError } from '../../daemon/protocol';
import { describeAbilities, describeLimits } from '../common/words';

/** A row of the picker: a model, or a provider that failed to list its models. */
export interface ModelRow extends QuickPickItem {
  model?: ModelInfo;
  /** Why the row's provider has no models. */
  error?: WireError;
}

function toModelRow(model: ModelInfo): ModelRow {
  const name = model.name === model.model ? '' : ` (${model.name})`;
  const label = `${model.model}${name}`;
  return { label, description: describeLimits(model), detail: describeAbilities(model), model };
}

/** Return the picker's rows by heading: the models of each provider, then the providers that failed. */
export function groupModelRows({
  models,
  errors,
}: Requests['models/list']['result']): Map<string, ModelRow[]> {
  const rows = new Map<string, ModelRow[]>();
  for (const model of models.filter((each) => each.pickerEnabled)) {
    rows.set(model.provider, [...(rows.get(model.provider) ?? []), toModelRow(model)]);
  }
  if (errors.length > 0) {
    const failed = errors.map(({ provider, error }) => ({
      label: `$(warning) ${provider}`,
      detail: error.message,
      error,
    }));
    rows.set(l10n.t('not available'), failed);
  }
  return rows;
}
