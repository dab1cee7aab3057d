;;; jumpseat-models.el --- Providers, models and settings  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The daemon's lists of providers, models, settings and prompts, cached until
;; the daemon reports a change, and the commands that choose a model and set
;; settings.

;;; Code:

(require 'map)
(require 'jumpseat-transcript)
(require 'jumpseat-ui)
(require 'jumpseat-view)

(defvar jumpseat-models--cache nil "An alist of methods and cached results.")
(defvar jumpseat-models--fetching nil "The methods that are being requested for completion.")

(defun jumpseat-models--make-forgetter (&rest methods)
  "Return a listener that drops the results of METHODS from the cache."
  (lambda (_params)
    (setq jumpseat-models--cache
          (seq-remove (lambda (each) (member (car each) methods)) jumpseat-models--cache))))

(jumpseat--inbox-on 'providers/didChange (jumpseat-models--make-forgetter "providers/list"))
(jumpseat--inbox-on 'auth/didChange (jumpseat-models--make-forgetter "providers/list"))
(jumpseat--inbox-on 'models/didChange (jumpseat-models--make-forgetter "models/list"))
(jumpseat--inbox-on 'settings/didChange (jumpseat-models--make-forgetter "providers/list" "models/list"))
(jumpseat--inbox-on 'end (jumpseat-models--make-forgetter "providers/list" "models/list" "prompts/list"))

(defun jumpseat--models-get (method callback)
  "Request METHOD, and cache the result.
Call CALLBACK with an error or nil, and the result."
  (jumpseat--rpc-request
   method nil
   (lambda (err result)
     (unless err (setf (alist-get method jumpseat-models--cache nil nil #'equal) result))
     (funcall callback err result))))

(defun jumpseat-models--get-cached (method key)
  "Return the list KEY in the cached result of METHOD.
If no result is cached, return nil, and request it for the next call, because
completion cannot wait."
  (let ((known (assoc method jumpseat-models--cache)))
    (unless (or known (member method jumpseat-models--fetching))
      (push method jumpseat-models--fetching)
      (jumpseat--models-get method
                            (lambda (&rest _)
                              (setq jumpseat-models--fetching
                                    (delete method jumpseat-models--fetching)))))
    (jumpseat--list (plist-get (cdr known) key))))

(defun jumpseat--models-providers (callback)
  "Call CALLBACK with an error or nil, and the list of providers."
  (jumpseat--models-get
   "providers/list"
   (lambda (err result)
     (funcall callback err (jumpseat--list (plist-get result :providers))))))

(defun jumpseat--models-known-providers ()
  "Return the cached list of providers, for completion."
  (jumpseat-models--get-cached "providers/list" :providers))

(defun jumpseat--models-known ()
  "Return the cached list of models, for completion."
  (jumpseat-models--get-cached "models/list" :models))

(defun jumpseat--models-known-prompts ()
  "Return the cached prompt list, for completion."
  (jumpseat-models--get-cached "prompts/list" :prompts))

(defun jumpseat-models--fetch-prompts (_params)
  "Request the prompt list early, so that the first slash can be completed."
  (funcall (jumpseat-models--make-forgetter "prompts/list") nil)
  (jumpseat--models-known-prompts))

(jumpseat--inbox-on 'ready #'jumpseat-models--fetch-prompts)
(jumpseat--inbox-on 'prompts/didChange #'jumpseat-models--fetch-prompts)

(defun jumpseat--models-provider (model providers)
  "Return the provider in PROVIDERS that MODEL names, or the default one."
  (or (seq-find (lambda (each) (and model (string-prefix-p (concat (plist-get each :id) ":") model)))
                providers)
      (seq-find (lambda (each) (jumpseat--true-p (plist-get each :isDefault))) providers)))

;;; Models

(defun jumpseat-models--format-size (tokens)
  "Format TOKENS in thousands."
  (format "%dk" (round tokens 1000)))

(defun jumpseat--models-describe (model)
  "Describe the name, limits, cost and abilities of MODEL in one line."
  (let* ((context (plist-get model :maxContextTokens))
         (output (plist-get model :maxOutputTokens))
         (multiplier (jumpseat--get model :billing :multiplier))
         (policy (plist-get model :policy))
         (abilities (seq-filter (lambda (each) (jumpseat--true-p (plist-get model (car each))))
                                '((:supportsVision . "images") (:supportsThinking . "thinking")
                                  (:supportsToolUse . "tools")))))
    (string-join
     (delq nil
           (list (unless (equal (plist-get model :name) (plist-get model :model))
                   (plist-get model :name))
                 (when context
                   (concat (jumpseat-models--format-size context) " context"
                           (when output
                             (format ", %s output" (jumpseat-models--format-size output)))))
                 (when multiplier (format "%gx" multiplier))
                 (when abilities (mapconcat #'cdr abilities ", "))
                 (pcase policy
                   ("unconfigured" "terms not accepted")
                   ("disabled" "disabled"))
                 (when (jumpseat--true-p (plist-get model :isDefault)) "default")))
     " · ")))

(defun jumpseat-models--use (buffer id)
  "Set the model of the chat BUFFER to ID.
If BUFFER is not a chat, set the default model of all clients."
  (cond
   ((not (buffer-live-p buffer)))
   ((with-current-buffer buffer jumpseat-chat-mode)
    (with-current-buffer buffer
      (jumpseat--transcript-update (lambda (now) (append (list :model id) now))
                                   (lambda () (jumpseat--view-update :model id)))))
   (t
    (jumpseat--rpc-request
     "settings/save" (list :settings (list :default_model id))
     (jumpseat--make-callback
      (lambda (result)
        (jumpseat--say "%s" (or (plist-get (elt (plist-get result :warnings) 0) :message)
                                (concat id " is now the default model for all clients.")))))))))

(defun jumpseat-models--use-with-terms (buffer model)
  "Use MODEL in BUFFER; if it has terms to accept, ask the user first."
  (let ((id (plist-get model :id))
        (terms (plist-get model :policyTerms)))
    (if (not (and terms (equal (plist-get model :policy) "unconfigured")))
        (jumpseat-models--use buffer id)
      (when (yes-or-no-p (concat terms "\nAccept the terms for your account? "))
        (jumpseat--rpc-request
         "models/setPolicy" (list :model id :state "enabled")
         (jumpseat--make-callback (lambda (_result) (jumpseat-models--use buffer id))))))))

(defun jumpseat-model (&optional name)
  "Choose the model of this chat or, outside of chats, the default of all clients.
Without the NAME of a model, offer all models."
  (interactive)
  (let ((buffer (current-buffer)))
    (if name (jumpseat-models--use buffer name)
      (jumpseat--models-get
       "models/list"
       (jumpseat--make-callback
        (lambda (result)
          (let ((models (seq-remove (lambda (each) (eq (plist-get each :pickerEnabled) :json-false))
                                    (plist-get result :models))))
            (if (null models)
                (jumpseat--say "No models are available. %s"
                               (mapconcat (lambda (each) (jumpseat--get each :error :message))
                                          (plist-get result :errors) " "))
              (jumpseat--ui-choose
               "Model"
               (mapcar (lambda (each)
                         (list (plist-get each :id) each (jumpseat--models-describe each)))
                       models)
               'jumpseat-model
               (lambda (model) (jumpseat-models--use-with-terms buffer model)))))))))))

;;; Settings

(defun jumpseat--models-describe-values (row)
  "Describe the type and the limits of the settings ROW."
  (string-join
   (delq nil
         (list (plist-get row :type)
               (when-let ((choices (jumpseat--list (plist-get row :choices))))
                 (mapconcat (lambda (each) (format "%s" each)) choices ", "))
               (when (plist-get row :minimum) (format "at least %g" (plist-get row :minimum)))
               (when (plist-get row :maximum) (format "at most %g" (plist-get row :maximum)))
               (when (plist-get row :default) (format "default %s" (plist-get row :default)))))
   ", "))

(defun jumpseat--models-rows ()
  "Return the rows of the cached settings schema of this chat's provider."
  (jumpseat--list
   (plist-get (jumpseat--models-provider (jumpseat--transcript-model)
                                         (jumpseat--models-known-providers))
              :settingsSchema)))

(defun jumpseat-models--format-value (value)
  "Format VALUE of a setting as the user would enter it."
  (cond ((eq value :json-false) "false")
        ((eq value t) "true")
        ((stringp value) value)
        ((vectorp value) (mapconcat #'jumpseat-models--format-value value ", "))
        (value (json-serialize value))))

(defun jumpseat-models--parse-value (type text)
  "Convert TEXT to a value of TYPE.
Return invalid text unchanged: the daemon explains what is wrong with it."
  (cond ((and (equal type "boolean") (member text '("true" "false")))
         (if (equal text "true") t :json-false))
        ((and (member type '("number" "integer"))
              (string-match-p "\\`[-+]?[0-9]*\\.?[0-9]+\\(?:[eE][-+]?[0-9]+\\)?\\'" text))
         (string-to-number text))
        ((equal type "list") (vconcat (split-string text "," t "[ \t]+")))
        ((equal type "map")
         (condition-case nil
             (json-parse-string text :object-type 'plist :false-object :json-false)
           (json-error text)))
        (t text)))

(defun jumpseat-models--read-value (row initial problem)
  "Read a value for the settings ROW, with the text INITIAL to edit.
PROBLEM says what is wrong with INITIAL, or is nil.  Return nil if the user
removes the setting."
  (let* ((type (plist-get row :type))
         (choices (cond ((equal type "boolean") '("true" "false"))
                        (t (mapcar (lambda (each) (format "%s" each)) (plist-get row :choices)))))
         (prompt (format "%s%s (%s; empty removes it): "
                         (if problem (concat (propertize problem 'face 'error) "\n") "")
                         (plist-get row :key) (jumpseat--models-describe-values row)))
         (text (string-trim (if choices (completing-read prompt choices nil nil initial)
                              (read-string prompt initial)))))
    (unless (string-empty-p text) (jumpseat-models--parse-value type text))))

(defun jumpseat-models--check (conversation key value callback)
  "Let the daemon check VALUE for the setting KEY of CONVERSATION.
Call CALLBACK with nil if VALUE is valid, else with a sentence that describes
the problem."
  (jumpseat--transcript-render-front-matter
   (list :model (plist-get conversation :model) :settings (list key value))
   (lambda (err text)
     (if err (funcall callback (jumpseat--format-error err))
       (jumpseat--rpc-request
        "transcript/check"
        (list :text (concat text "\n" (jumpseat--transcript-question jumpseat--format-markdown)
                            "\n\n-\n"))
        (lambda (failure result)
          (funcall callback
                   (if failure (jumpseat--format-error failure)
                     (plist-get (seq-find (lambda (each)
                                            (equal (plist-get each :code) "invalid_params"))
                                          (plist-get result :diagnostics))
                                :message)))))))
   jumpseat--format-markdown))

(defun jumpseat-models--put (buffer conversation key value)
  "Set KEY to VALUE, or remove KEY if VALUE is nil.
CONVERSATION is the parsed text of the chat in BUFFER."
  (let ((changed (append (map-delete (copy-sequence (plist-get conversation :settings)) key)
                         (when value (list key value)))))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (jumpseat--transcript-update
         (lambda (now) (append (list :settings changed) now))
         nil (plist-get conversation :place))))))

(defun jumpseat-models--set (buffer conversation row &optional initial problem)
  "Let the user set ROW in CONVERSATION, the parsed text of the chat in BUFFER.
INITIAL is the rejected input, and PROBLEM says what is wrong with it.  Without
INITIAL, start with the current value."
  (let* ((key (intern (concat ":" (plist-get row :key))))
         (value (jumpseat-models--read-value
                 row
                 (or initial
                     (jumpseat-models--format-value (jumpseat--get conversation :settings key)))
                 problem)))
    (if (null value) (jumpseat-models--put buffer conversation key nil)
      (jumpseat-models--check
       conversation key value
       (lambda (wrong)
         (if wrong
             (jumpseat--ui-call-when-free #'jumpseat-models--set buffer conversation row
                                          (jumpseat-models--format-value value) wrong)
           (jumpseat-models--put buffer conversation key value)))))))

(defun jumpseat-models--choose-row (rows key callback)
  "Call CALLBACK with the row of KEY among ROWS of a schema.
Without KEY, let the user choose."
  (if key
      (if-let ((row (seq-find (lambda (each) (equal key (plist-get each :key))) rows)))
          (jumpseat--ui-call-when-free callback row)
        (jumpseat--say "This provider has no setting %s." key))
    (jumpseat--ui-choose
     "Setting"
     (mapcar (lambda (row)
               (list (plist-get row :key) row
                     (format "%s  %s" (jumpseat--models-describe-values row)
                             (plist-get row :description))))
             rows)
     'jumpseat-setting callback)))

(defun jumpseat-settings (&optional key)
  "Choose a setting of this chat, and set it in its front matter.
Without KEY, the name of the setting, offer all settings."
  (interactive)
  (unless jumpseat-chat-mode
    (user-error "This is not a chat; %s opens one" (substitute-command-keys "\\[jumpseat]")))
  (let ((buffer (current-buffer)))
    (jumpseat--transcript-parse-here
     (jumpseat--make-callback
      (lambda (conversation)
        (jumpseat--rpc-request
         "settings/schema" (list :model (plist-get conversation :model))
         (jumpseat--make-callback
          (lambda (result)
            (jumpseat-models--choose-row
             (plist-get result :settingsSchema) key
             (lambda (row) (jumpseat-models--set buffer conversation row)))))))))))

(defun jumpseat-thinking ()
  "Choose how much the model of this chat thinks."
  (interactive)
  (jumpseat-settings "thinking"))

(provide 'jumpseat-models)
;;; jumpseat-models.el ends here
