;;; jumpseat-presets.el --- Named sets of model, prompt, settings and tools  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A preset is an entry of the option `jumpseat-presets': a name and a property
;; list.  A command applies a preset to a chat, and requests from Lisp can name a
;; preset.

;;; Code:

(require 'jumpseat-tools)
(require 'jumpseat-transcript)
(require 'jumpseat-ui)
(require 'jumpseat-view)

(defcustom jumpseat-presets nil
  "The presets, an alist of names and property lists.
The keys are :model, :system, :settings (a property list, such as
\(:temperature 0.2)), :tools (a list as in `jumpseat-tools') and :description.
A key that is absent does not change anything.  For example:

  ((\"code\" :description \"Careful with files\" :model \"copilot:gpt-4.1\"
           :system \"You are a careful programmer.\" :tools (\"files/*\")))"
  :type '(alist :key-type string :value-type (plist :key-type symbol :value-type sexp))
  :group 'jumpseat)

(defun jumpseat--preset-get (name)
  "Return the property list of the preset NAME, or nil if NAME is nil."
  (when name
    (cdr (or (assoc name jumpseat-presets)
             (user-error "There is no preset named %s in `jumpseat-presets'" name)))))

(defun jumpseat-presets--describe (preset)
  "Describe PRESET in one line."
  (string-join
   (delq nil (list (plist-get preset :description) (plist-get preset :model)
                   (and (plist-get preset :tools)
                        (concat "tools: " (string-join (plist-get preset :tools) ", ")))))
   " · "))

(defun jumpseat-presets--apply (name)
  "Apply the preset NAME to this chat."
  (let ((preset (jumpseat--preset-get name)))
    (jumpseat--transcript-update
     (lambda (now)
       (append (list :model (or (plist-get preset :model) (plist-get now :model))
                     :system (or (plist-get preset :system) (plist-get now :system))
                     :daemonTools (if (plist-member preset :tools)
                                      (vconcat (plist-get preset :tools))
                                    (plist-get now :daemonTools))
                     ;; If a key occurs twice, the first value counts.
                     :settings (append (plist-get preset :settings) (plist-get now :settings)))
               now))
     (lambda ()
       (jumpseat--view-update :model (jumpseat--transcript-model))
       (jumpseat--tools-show-in-header)
       (jumpseat--say "The preset %s was applied." name)))))

(defun jumpseat-preset (&optional name)
  "Apply a preset of `jumpseat-presets' to this chat.
Without the NAME of a preset, offer all presets."
  (interactive)
  (unless jumpseat-chat-mode
    (user-error "This is not a chat; %s opens one" (substitute-command-keys "\\[jumpseat]")))
  (unless jumpseat-presets
    (user-error "There are no presets; customize `jumpseat-presets'"))
  (let ((buffer (current-buffer)))
    (if name (jumpseat-presets--apply name)
      (jumpseat--ui-choose
       "Preset"
       (mapcar (lambda (each) (list (car each) (car each) (jumpseat-presets--describe (cdr each))))
               jumpseat-presets)
       'jumpseat-preset
       (lambda (chosen)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer (jumpseat-presets--apply chosen))))))))

(provide 'jumpseat-presets)
;;; jumpseat-presets.el ends here
